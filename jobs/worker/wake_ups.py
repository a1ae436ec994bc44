"""Wake-ups: a thread that hears that work arrived. They may be lost: polling is the fallback."""

import logging
from collections.abc import Callable, Sequence

from jobs.webhooks.bell import CALL, bell
from jobs.worker.queue_client import NoWakeUps, QueueClient
from jobs.worker.repeating import Repeating

logger = logging.getLogger("jobs.worker")
OTHER = "@"  # what begins so is no queue, but a chore of the workers' own
LOOK_UP = 1.0  # seconds between looks whether to stop


class WakeUps(Repeating):
    def __init__(
        self,
        client: QueueClient,
        on_wake_up: Callable[[], None],
        queues: Sequence[str] = (),
        on_other: Callable[[str], None] = lambda word: None,
    ) -> None:
        super().__init__("wake-ups", client)
        self.on_wake_up, self.queues = on_wake_up, queues
        self.on_other = on_other  # called with a word that is no queue's name
        self.working = False  # whether hints can be relied on: else the worker polls often

    def pause(self) -> float:
        return 0.0

    def steps(self) -> Sequence[Callable[[], None]]:
        return (self.listen,)

    def listen(self) -> None:
        """Listen until stopped; a connection that breaks is noticed, and the next round opens a new one."""
        listening = self.client.listening()
        if listening is None:
            self.stop()
            return
        try:
            with listening as listener:
                self.working = True
                self.on_wake_up()  # what arrived while nobody listened
                while not self._stop_asked.is_set():
                    queue = listener.wait(LOOK_UP)
                    if queue == CALL:
                        bell.ring()
                    elif queue is not None and queue.startswith(OTHER):
                        self.on_other(queue)
                    elif queue is not None and (queue in self.queues or not self.queues):
                        self.on_wake_up()
        except NoWakeUps as error:
            logger.warning("%s", error)
            self.stop()
        finally:
            self.working = False
