"""A thread of the worker that does the same few things again and again, whatever goes wrong."""

import logging
import random
import threading
from collections.abc import Callable, Sequence

from jobs.logs import Event
from jobs.worker.last_waits import LastWaits
from jobs.worker.queue_client import QueueClient, QueueRefuses, QueueUnavailable

logger = logging.getLogger("jobs.worker")
PATIENCE = 3.0  # seconds: so long does a stopping worker wait for it
JITTER = (0.7, 1.3)  # many workers may wait for the same queue
SOON = 1.0  # seconds after a failure: who comes back late from an outage may have been given up meanwhile


class Repeating(threading.Thread):
    """Runs beside the others, with a connection of its own, until it is stopped."""

    def __init__(self, name: str, client: QueueClient) -> None:
        super().__init__(name=name, daemon=True)
        self.client = client
        self._stop_asked = threading.Event()
        self.on_refused: Callable[[QueueRefuses], None] = lambda refused: None
        self._retry_in = 0.0

    @property
    def patience(self) -> float:
        """How long a stopping worker waits for it."""
        return PATIENCE

    def pause(self) -> float:
        """Seconds until the next round."""
        raise NotImplementedError

    def steps(self) -> Sequence[Callable[[], None]]:
        raise NotImplementedError

    def run(self) -> None:
        pause = self.pause()
        try:
            while not self.is_over_after(pause):
                self._retry_in = 0.0
                went_well = [self.survive(step) for step in self.steps()]
                pause = self.pause() if all(went_well) else self.pause_after_failure()
        finally:
            self.client.hang_up()

    def pause_after_failure(self) -> float:
        soon = min(self.pause() or SOON, SOON) * random.uniform(*JITTER)
        return max(soon, self._retry_in)

    def is_over_after(self, pause: float) -> bool:
        """Rest for so long; returns at once where it is to stop."""
        return self._stop_asked.wait(pause)

    def stop(self) -> None:
        self._stop_asked.set()

    def await_end(self, waits: LastWaits) -> None:
        waits.wait_for(self, waits.began + self.patience)

    def survive(self, step: Callable[[], None]) -> bool:
        """Whatever goes wrong, it must go on: without a heartbeat every claim of this worker is lost."""
        try:
            step()
        except QueueUnavailable as error:
            if self._stop_asked.is_set():  # nobody needs it any more; and a server may not know us after we signed off
                return False
            logger.warning(Event(f"{step.__name__} failed", error=str(error)))
            self._retry_in = error.retry_in
            return False
        except QueueRefuses as refused:
            self.on_refused(refused)
            self.stop()
            return False
        except Exception:
            logger.exception("%s failed", step.__name__)
            return False
        return True
