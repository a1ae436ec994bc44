"""The worker's timekeeper: it sleeps until a periodic job is due, and enqueues it. All workers do, each tick once."""

import threading
from collections.abc import Callable, Sequence

from jobs.conf import conf
from jobs.worker.queue_client import QueueClient
from jobs.worker.repeating import Repeating

SHORTEST = 0.05  # seconds; what is due although we have just looked is being dealt with by another worker
CHANGED = "@periodic"


class Timekeeper(Repeating):
    def __init__(self, client: QueueClient, on_enqueued: Callable[[], None]) -> None:
        super().__init__("timekeeper", client)
        self.on_enqueued = on_enqueued
        self._look = threading.Event()
        self._due_in: float | None = 0.0

    def pause(self) -> float:
        """Until the next is due; not much longer where one may be changed, for nobody tells a worker that polls."""
        longest = conf.PERIODIC_INTERVAL
        return longest if self._due_in is None else min(longest, max(SHORTEST, self._due_in))

    def steps(self) -> Sequence[Callable[[], None]]:
        return (self.tick,)

    def tick(self) -> None:
        ticked = self.client.tick()
        self._due_in = ticked.next_in
        if ticked.enqueued:  # where no wake-ups reach us, we know of this work before we look for some
            self.on_enqueued()

    def on_word(self, word: str) -> None:
        """Somebody has changed a periodic job: what we sleep for may be another now."""
        if word == CHANGED:
            self._look.set()

    def is_over_after(self, pause: float) -> bool:
        self._look.wait(pause)
        self._look.clear()
        return self._stop_asked.is_set()

    def stop(self) -> None:
        super().stop()
        self._look.set()
