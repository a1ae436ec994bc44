"""The worker's deliverer: it sends what the outbox has for webhooks, in a thread of its own, so that nobody waits.

It looks when a message was written here, when another process says so, and once in a while; idle it has no connection.
"""

import logging
import random
import threading
from collections.abc import Callable, Sequence
from time import monotonic

from jobs.conf import conf
from jobs.logs import Event
from jobs.webhooks.bell import bell
from jobs.webhooks.delivering import deliver
from jobs.webhooks.message import Delivery, Sent
from jobs.worker.queue_client import QueueClient, QueueUnavailable
from jobs.worker.repeating import SOON, Repeating

logger = logging.getLogger("jobs.worker")
POLL = 60.0
LAST_CALL = 5.0  # seconds in which a stopping worker still begins to send
RECORD_TRIES = 3  # what cannot be recorded is sent again, by the same id


class Deliverer(Repeating):
    def __init__(self, client: QueueClient) -> None:
        super().__init__("webhooks", client)
        self._woken = threading.Event()
        self._next = 0.0
        self._stopped_at: float | None = None

    @property
    def patience(self) -> float:
        """What is under way when a worker stops may take so long."""
        return conf.WEBHOOK_TIMEOUT + LAST_CALL

    def start(self) -> None:
        bell.listen(self.wake)
        super().start()

    def wake(self) -> None:
        self._woken.set()

    def stop(self) -> None:
        self._stopped_at = monotonic()
        super().stop()
        self.wake()

    def pause(self) -> float:
        return self._next

    def is_over_after(self, pause: float) -> bool:
        self._woken.wait(pause)
        self._woken.clear()
        return self._stop_asked.is_set()

    def steps(self) -> Sequence[Callable[[], None]]:
        return (self.deliver_webhooks,)

    def run(self) -> None:
        """The last jobs of a worker that stops were finished a moment ago: their messages go out, too."""
        try:
            super().run()
            self.survive(self.deliver_webhooks)
        finally:
            bell.listen(None)
            self.client.hang_up()

    def deliver_webhooks(self) -> None:
        self._next = POLL  # should this fail
        wait = self.client.next_delivery_in()
        if wait == 0:
            deliver(self, conf.WEBHOOK_CONCURRENCY, self.has_had_enough)
            wait = self.client.next_delivery_in()
        # Not at once again: what is due although it was not taken is somebody else's, or has no room yet.
        self._next = POLL * random.uniform(1.0, 1.2) if wait is None else min(max(wait, SOON), POLL)
        self.client.hang_up()

    def has_had_enough(self) -> bool:
        return self._stopped_at is not None and monotonic() - self._stopped_at > LAST_CALL

    # The outbox, through outages

    def take_deliveries(self, limit: int, room: Callable[[str], int]) -> Sequence[Delivery]:
        try:
            return self.client.take_deliveries(limit, room)
        except QueueUnavailable as error:
            logger.warning(Event("webhooks wait for the queue", error=str(error)))
            return ()

    def record_deliveries(self, sent: Sequence[Sent]) -> None:
        for number in range(1, RECORD_TRIES + 1):
            try:
                return self.client.record_deliveries(sent)
            except QueueUnavailable as error:
                logger.warning(Event("what became of webhooks is not recorded yet", error=str(error)))
                if number < RECORD_TRIES:
                    self._stop_asked.wait(SOON)
        return None
