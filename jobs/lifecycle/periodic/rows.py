"""What the verbs of periodic jobs share: a row under its lock, with the database's time, and its next tick."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from jobs.db import Now
from jobs.exceptions import PeriodicJobNotFound
from jobs.lifecycle import wake_up
from jobs.models import PeriodicJob

# Not the name of a queue: those begin with a letter or a digit.
CHANGED = "@periodic"


def locked(name: str) -> Any:
    """The row, nobody else's until this transaction ends; `now` is the database's time."""
    row = PeriodicJob.objects.select_for_update(no_key=True).annotate(now=Now()).filter(name=name).first()
    if row is None:
        raise PeriodicJobNotFound(name=name)
    return row


@contextmanager
def replanned(row: Any) -> Iterator[None]:
    """Around a change of a row. Its next tick is kept where the times stay the same: a missed one is still missed.

    Else it counts from now on: what would have been due while it was off, gone or at other times was not missed.
    """
    before = times_of(row)
    yield
    if row.next_at is None or times_of(row) != before:
        ticks = row.enabled and row.gone_at is None
        row.next_at = row.when().after(row.now) if ticks else None


def times_of(row: PeriodicJob) -> tuple[object, ...]:
    return row.schedule, row.timezone, row.enabled, row.gone_at


def announce() -> None:
    """Workers that sleep until a tick look again; where no wake-ups reach them, within JOBS_PERIODIC_INTERVAL."""
    wake_up.send_to([CHANGED])
