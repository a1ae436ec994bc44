"""What the tests of videos share: a storage of their own."""

from pathlib import Path

import pytest
from django.conf import LazySettings


@pytest.fixture
def media(settings: LazySettings, tmp_path: Path) -> Path:
    """Where the storage of this test is."""
    settings.MEDIA_ROOT = tmp_path / "media"
    return tmp_path / "media"
