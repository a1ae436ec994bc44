"""Whether this machine has room for another process: if not, that is said once, and tried again later and later."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from time import monotonic

from jobs.logs import Event
from jobs.worker.ledger import NEVER
from jobs.worker.nursery import CannotFork

logger = logging.getLogger("jobs.worker")
FIRST_PAUSE, LONGEST_PAUSE = 1.0, 60.0  # seconds
FORGOTTEN = 2 * LONGEST_PAUSE  # after which it is another trouble, and told again
NO_THREADS = "a new process has no room for its threads"


class Forking:
    def __init__(self) -> None:
        self._failed_at, self._pause, self._said = NEVER, 0.0, ""

    @property
    def wait(self) -> float:
        """Seconds in which no process need be asked for."""
        return max(0.0, self._failed_at + self._pause - monotonic())

    @contextmanager
    def tried(self) -> Iterator[None]:
        """Around the making of a process; raises CannotFork at once while that need not be tried."""
        if self.wait:
            raise CannotFork(self._said)
        try:
            yield
        except (OSError, CannotFork) as error:  # too many open files, or what the nursery was told
            self.failed(str(error))
            raise CannotFork(str(error)) from error

    def failed(self, why: str) -> None:
        now = monotonic()
        if now - self._failed_at > FORGOTTEN:
            self._pause, self._said = 0.0, ""
        self._failed_at, self._pause = now, min(max(2 * self._pause, FIRST_PAUSE), LONGEST_PAUSE)
        if why != self._said:
            logger.error(Event("no new process can be made: what needs one waits, and it is tried again", error=why))
        self._said = why
