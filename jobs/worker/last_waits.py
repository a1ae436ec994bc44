"""The last waits of a worker: all that is under way when it ends has one deadline, and a signal brings that near."""

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Thread
from time import monotonic

from jobs.stop_signals import signals_caught

ALL_TOGETHER = 10.0  # seconds: as long as a webhook may take by default
MOMENT = 1.0  # seconds: enough to sign off, or to remove an empty directory
LOOK_UP = 0.1  # seconds between looks whether a signal came
NEVER = float("inf")


class LastWaits:
    def __init__(self, seconds: float) -> None:
        self.began = monotonic()
        self._until = self.began + seconds

    @property
    def left(self) -> float:
        return max(0.0, self._until - monotonic())

    def hurry(self, number: int) -> None:
        """Whoever sends a signal now does not want to wait: only what takes a moment is still done."""
        self._until = min(self._until, monotonic() + MOMENT)

    def wait_for(self, thread: Thread, until: float = NEVER, *, least: float = 0.0) -> bool:
        """Until it has ended, or a deadline has come, but for so many seconds at least; returns whether it has."""
        not_before = monotonic() + least
        while thread.is_alive() and (left := max(min(until, self._until), not_before) - monotonic()) > 0:
            thread.join(min(left, LOOK_UP))
        return not thread.is_alive()


@contextmanager
def last_waits() -> Iterator[LastWaits]:
    waits = LastWaits(ALL_TOGETHER)
    with signals_caught(waits.hurry):
        yield waits
