"""What the tests of the HTTP API share."""

from pathlib import Path

import pytest
from django.conf import LazySettings


@pytest.fixture(autouse=True)
def _static_files(settings: LazySettings, tmp_path: Path) -> None:
    settings.STATIC_ROOT = tmp_path  # where there is none, WhiteNoise warns
