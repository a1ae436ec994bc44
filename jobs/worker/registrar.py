"""The registrar: the thread that hands in how attempts ended, so that the clerk can claim what comes next meanwhile."""

import logging
import threading
from collections.abc import Callable, Sequence
from queue import Empty, SimpleQueue
from time import monotonic

from jobs.handlers.base import Answer, Outcome
from jobs.logs import Event
from jobs.worker.queue_client import QueueClient

logger = logging.getLogger("jobs.worker")
LOCKED_AGAIN = 2.0  # seconds; each time the others may have to wait for one more


class Registrar(threading.Thread):
    """Started with the first outcome. What comes while it is under way goes together, by its next call."""

    def __init__(
        self,
        client: QueueClient,
        hand_in: Callable[..., list[Answer]],  # `HandIn`
        on_finished: Callable[[list[Answer]], None],
        on_failure: Callable[[BaseException], None],
    ) -> None:
        super().__init__(name="registrar", daemon=True)
        self.client, self.hand_in, self.on_finished, self.on_failure = client, hand_in, on_finished, on_failure
        self._tray: SimpleQueue[Sequence[Outcome] | None] = SimpleQueue()
        self._locked: list[Outcome] = []  # of jobs that somebody keeps locked
        self._again_at = 0.0

    def finish(self, outcomes: Sequence[Outcome]) -> None:
        if not self.client.answers_several_at_once or not self.is_at_work():
            self.client.rest()
            self.on_finished(self.hand_in(outcomes))
            return
        self._tray.put(outcomes)

    def is_at_work(self) -> bool:
        if not self.ident:
            try:
                self.start()
            except RuntimeError:  # no room for another thread: the clerk does it until there is
                return False
        return self.is_alive()

    def end(self) -> None:
        """When what is on the tray is done."""
        self._tray.put(None)
        if self.ident:
            self.join()

    def run(self) -> None:
        try:
            while (outcomes := self.take()) is not None:
                self.client.rest()
                self.tell(outcomes)
                if self._locked and monotonic() >= self._again_at:
                    again, self._locked = self._locked, []
                    self.tell(again)
            if self._locked:
                self.on_finished(self.hand_in(self._locked))
        except BaseException as error:  # the supervisor must know, as of the clerk's
            self.on_failure(error)
        finally:
            self.client.hang_up()

    def tell(self, outcomes: Sequence[Outcome]) -> None:
        """Those whose jobs are locked are told later, and by themselves: no other waits for them."""
        locked: list[Outcome] = []
        if outcomes and (answers := self.hand_in(outcomes, locked)):
            self.on_finished(answers)
        if locked:
            told = [outcome.claim.job_id for outcome in locked]
            logger.warning(Event("somebody keeps jobs locked, how they ended is told later", job_ids=told))
            if not self._locked:
                self._again_at = monotonic() + LOCKED_AGAIN
            self._locked += locked

    def delay(self) -> str:
        """Of which jobs nobody can be told how they ended; empty if there are none."""
        jobs = ", ".join(str(outcome.claim.job_id) for outcome in list(self._locked))
        return f"Somebody keeps jobs locked, which are left to the reaper: {jobs}" if jobs else ""

    def take(self) -> list[Outcome] | None:
        """All there is, once there is something or it is time for those that were locked; None when it is to end."""
        try:
            first = self._tray.get(timeout=max(0.0, self._again_at - monotonic()) if self._locked else None)
        except Empty:
            return []
        if first is None:
            return None
        taken = list(first)
        while True:
            try:
                more = self._tray.get_nowait()
            except Empty:
                break
            if more is None:
                self._tray.put(None)  # to be found again by the next look
                break
            taken += more
        return taken
