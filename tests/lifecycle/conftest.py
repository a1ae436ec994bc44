"""What holds after every test of a verb: the counters equal the real counts, and no job breaks a rule of its row."""

from collections.abc import Iterator

import pytest
from django.conf import LazySettings
from django.db.models import F

from jobs.handlers.registry import Kind, registry
from jobs.models import Job
from tests.factories import kept_counts, real_counts


@pytest.fixture(autouse=True)
def _counters_and_attempts_stay_right(db: None) -> Iterator[None]:
    yield
    assert kept_counts() == real_counts()
    assert not Job.objects.filter(attempt__gt=F("max_attempts")).exists()


@pytest.fixture(autouse=True)
def _waits_are_exact(settings: LazySettings) -> None:
    settings.JOBS_BACKOFF_JITTER = 0


@pytest.fixture
def kind() -> Iterator[Kind]:
    """A kind whose options and hooks a test may set."""
    mine = Kind("test.mine", lambda context, **payload: None)
    registry.add(mine)
    yield mine
    registry.remove(mine.name)
