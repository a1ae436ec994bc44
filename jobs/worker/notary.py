"""The notary: the thread that hands in outcomes whose kind has a hook.

A hook is foreign code, and nothing can end it. While one waits for something, only those behind it wait: the clerk goes
on. One that holds the interpreter stops the clerk and the heartbeat, too: hooks are to be short.
"""

import logging
import threading
from collections.abc import Callable
from queue import Empty, SimpleQueue
from time import monotonic

from jobs.handlers.base import Answer, ClaimedJob, Outcome
from jobs.handlers.registry import registry
from jobs.logs import Event
from jobs.states import Verdict
from jobs.worker.queue_client import QueueClient
from jobs.worker.registrar import LOCKED_AGAIN

logger = logging.getLogger("jobs.worker")
LONG = 10.0  # seconds
MOST_WAITING = 100  # what has run and is not stored would have to run again, should the worker die


def needs_notary(job: ClaimedJob, outcome: Outcome) -> bool:
    kind = registry.find(job.kind)
    return bool(kind and kind.has_completion and outcome.verdict == Verdict.COMPLETED)


class Notary(threading.Thread):
    """Started with the first outcome; each is a transaction of its own, so that the one that hangs can be named."""

    def __init__(
        self,
        client: QueueClient,
        hand_in: Callable[..., list[Answer]],  # `HandIn`
        on_finished: Callable[[list[Answer]], None],
        on_failure: Callable[[BaseException], None],
    ) -> None:
        super().__init__(name="notary", daemon=True)
        self.client, self.hand_in, self.on_finished, self.on_failure = client, hand_in, on_finished, on_failure
        self._tray: SimpleQueue[tuple[ClaimedJob, Outcome] | None] = SimpleQueue()
        self._in_hand: tuple[ClaimedJob, float] | None = None  # and since when
        self._patience = LONG
        self._locked: list[tuple[ClaimedJob, Outcome]] = []  # jobs that somebody keeps locked
        self._again_at = 0.0

    def finish(self, job: ClaimedJob, outcome: Outcome) -> None:
        if not self.ident:
            try:
                self.start()
            except RuntimeError:  # no room for another thread: the clerk does it until there is
                return self.on_finished(self.hand_in([outcome]))
        return self._tray.put((job, outcome))

    def close(self) -> None:
        """Do what is on the tray, then end."""
        self._tray.put(None)

    @property
    def is_swamped(self) -> bool:
        return self._tray.qsize() >= MOST_WAITING

    def run(self) -> None:
        try:
            while (given := self.take()) is not None:
                job, outcome = given
                self._in_hand, self._patience = (job, monotonic()), LONG
                self.client.rest()
                self.tell(job, outcome)
                self._in_hand = None
            for _, outcome in self._locked:
                self.on_finished(self.hand_in([outcome]))
        except BaseException as error:  # the supervisor must know, as of the clerk's
            self.on_failure(error)
        finally:
            self.client.hang_up()

    def tell(self, job: ClaimedJob, outcome: Outcome) -> None:
        """If somebody keeps its job locked, later: no other waits for it."""
        locked: list[Outcome] = []
        if answers := self.hand_in([outcome], locked):
            self.on_finished(answers)
        if locked:
            self._locked.append((job, outcome))
            self._again_at = monotonic() + LOCKED_AGAIN

    def take(self) -> tuple[ClaimedJob, Outcome] | None:
        """The next, or one that was locked when its time has come."""
        while True:
            if self._locked and monotonic() >= self._again_at:
                return self._locked.pop(0)
            try:
                return self._tray.get(timeout=max(0.0, self._again_at - monotonic()) if self._locked else None)
            except Empty:
                pass  # it is time

    def delay(self, now: float, **more: object) -> str:
        """Which hook takes long; empty if none does."""
        if self._in_hand is None:
            return ""
        job, since = self._in_hand
        if now - since < LONG:
            return ""
        return Event("on_complete takes long", job=job.id, kind=job.kind, seconds=round(now - since), **more)

    def complain(self, now: float) -> None:
        """Tell of a hook that takes long: after a while, and each time that it took twice as long."""
        delay, in_hand = self.delay(now, waiting=self._tray.qsize()), self._in_hand
        if delay and in_hand and now - in_hand[1] >= self._patience:
            self._patience *= 2
            logger.warning(delay)
