"""What the tests of the HTTP API share."""

from pathlib import Path

import pytest
from django.conf import LazySettings
from django.contrib.auth.models import User
from django.test import Client

from tests.api.calls import with_token


@pytest.fixture(autouse=True)
def _static_files(settings: LazySettings, tmp_path: Path) -> None:
    settings.STATIC_ROOT = tmp_path  # where there is none, WhiteNoise warns


@pytest.fixture
def program(db: None) -> Client:
    """May do everything; anna gave it her token."""
    return with_token(User.objects.create_superuser("anna", password=None))
