"""Who looks at the admin: an operator who may do everything, and staff who may not."""

from pathlib import Path

import pytest
from django.conf import LazySettings
from django.contrib.auth.models import User
from django.test import Client

from tests.admin.visits import logged_in


@pytest.fixture(autouse=True)
def _static_root(settings: LazySettings, tmp_path: Path) -> None:
    settings.STATIC_ROOT = tmp_path  # where there is none, WhiteNoise warns


@pytest.fixture
def operator(db: None) -> Client:
    return logged_in(User.objects.create_superuser("anna", password=None))
