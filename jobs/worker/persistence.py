"""Persistence: a call to the queue is repeated until it is answered, or until the worker must go."""

import logging
import random
import threading
from collections.abc import Callable, Iterator
from time import monotonic
from typing import TypeVar

from jobs.logs import Event
from jobs.worker.queue_client import JobBusy, QueueUnavailable

logger = logging.getLogger("jobs.worker")
R = TypeVar("R")
FIRST_PAUSE, LONGEST_PAUSE = 0.1, 5.0
JITTER = (0.7, 1.3)  # of each pause: many workers may wait for the same server


def pauses() -> Iterator[float]:
    """Seconds to wait before each further try, without end."""
    pause = FIRST_PAUSE
    while True:
        yield pause * random.uniform(*JITTER)
        pause = min(pause * 2, LONGEST_PAUSE)


class GivenUp(Exception):
    """The worker must exit although the queue does not answer: the reaper will find what was not told."""


class Persistence:
    def __init__(self) -> None:
        self.give_up = threading.Event()
        self.trouble = ""  # why the last call got no answer
        self._unanswered: dict[int, float] = {}  # which threads repeat a call, and since when

    def unanswered_for(self) -> float:
        """Seconds for which a call has been repeated by now; 0 while the queue answers."""
        now = monotonic()
        return now - min(list(self._unanswered.values()), default=now)

    def __call__(self, call: Callable[[], R]) -> R:
        """Repeat a call until the queue answers. Every call of a worker is safe to repeat. That one job is busy is an
        answer: who has others to speak of comes back to it."""
        try:
            return self._repeat(call)
        finally:
            self._unanswered.pop(threading.get_ident(), None)

    def _repeat(self, call: Callable[[], R]) -> R:
        waits = pauses()
        while True:
            try:
                return call()
            except JobBusy:
                raise
            except QueueUnavailable as error:
                self.trouble = str(error)
                self._unanswered.setdefault(threading.get_ident(), monotonic())
                wait = max(next(waits), error.retry_in)
                logger.warning(Event("queue unavailable, trying again", pause=round(wait, 2), error=str(error)))
                if self.give_up.wait(wait):
                    raise GivenUp(str(error)) from error
