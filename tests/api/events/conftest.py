"""A site with an operator who listens."""

from collections.abc import Iterator

import pytest
from django.conf import LazySettings
from django.contrib.auth.models import User
from django.test import Client

from tests.admin.visits import logged_in
from tests.api.events.listening import Site, open_site


@pytest.fixture(autouse=True)
def _quick(settings: LazySettings) -> None:
    settings.JOBS_SSE_INTERVAL = 0.1
    settings.JOBS_SSE_PING = 0.5  # brings a position that was not settled at first


@pytest.fixture
def site(transactional_db: None) -> Iterator[Site]:
    with open_site() as site:
        yield site


@pytest.fixture
def anna(transactional_db: None) -> Client:
    return logged_in(User.objects.create_superuser("anna", password=None))
