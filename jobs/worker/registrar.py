"""The registrar: the thread that hands in how attempts ended, so that the clerk can claim what comes next meanwhile."""

import threading
from collections.abc import Callable, Sequence
from queue import Empty, SimpleQueue

from jobs.handlers.base import Answer, Outcome
from jobs.worker.queue_client import QueueClient


class Registrar(threading.Thread):
    """Started with the first outcome. What comes while it is under way goes together, by its next call."""

    def __init__(
        self,
        client: QueueClient,
        hand_in: Callable[[Sequence[Outcome]], list[Answer]],
        on_finished: Callable[[list[Answer]], None],
        on_failure: Callable[[BaseException], None],
    ) -> None:
        super().__init__(name="registrar", daemon=True)
        self.client, self.hand_in, self.on_finished, self.on_failure = client, hand_in, on_finished, on_failure
        self._tray: SimpleQueue[Sequence[Outcome] | None] = SimpleQueue()

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
            while outcomes := self.take():
                self.client.rest()
                self.on_finished(self.hand_in(outcomes))
        except BaseException as error:  # the supervisor must know, as of the clerk's
            self.on_failure(error)
        finally:
            self.client.hang_up()

    def take(self) -> list[Outcome]:
        """All there is, once there is something; nothing when it is to end."""
        taken = list(self._tray.get() or ())
        while taken:
            try:
                more = self._tray.get_nowait()
            except Empty:
                break
            if more is None:
                self._tray.put(None)  # to be found again by the next look
                break
            taken += more
        return taken
