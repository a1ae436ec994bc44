"""What the tests of videos share: a storage of their own."""

from pathlib import Path

import pytest
from django.conf import LazySettings
from django.test import Client

from tests.videos.shelf import client_of


@pytest.fixture
def media(settings: LazySettings, tmp_path: Path) -> Path:
    """Where the storage of this test is."""
    settings.MEDIA_ROOT = tmp_path / "media"
    return tmp_path / "media"


@pytest.fixture
def site_folders(settings: LazySettings, tmp_path: Path) -> None:
    """What the site stores, and its static files."""
    settings.MEDIA_ROOT = tmp_path / "media"
    settings.STATIC_ROOT = tmp_path / "static"
    settings.STATIC_ROOT.mkdir()  # where there is none, WhiteNoise warns


@pytest.fixture
def viewer() -> Client:
    return client_of("view_video", name="viewer")


@pytest.fixture
def editor() -> Client:
    return client_of("view_video", "change_video", name="editor")


@pytest.fixture
def program() -> Client:
    """Logged in, and may do everything with videos."""
    return client_of("view_video", "add_video", "change_video", "delete_video")
