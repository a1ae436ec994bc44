"""Wake-ups: a thread that hears that work arrived. They may be lost: polling is the fallback."""

import logging
import threading
from collections.abc import Callable, Sequence

from jobs.dispatch.hints import is_word
from jobs.webhooks.bell import CALL, bell
from jobs.worker.queue_client import Listener, NoWakeUps, QueueClient, WakeUpsAway
from jobs.worker.repeating import PATIENCE, Repeating

logger = logging.getLogger("jobs.worker")
LOOK_UP = 1.0  # seconds between looks whether to stop


class WakeUps(Repeating):
    def __init__(
        self,
        client: QueueClient,
        on_wake_up: Callable[..., None],
        queues: Sequence[str] = (),
        on_other: Callable[[str], None] = lambda word: None,
    ) -> None:
        super().__init__("wake-ups", client)
        self.on_wake_up, self.queues = on_wake_up, queues  # called with the names of queues that got work, if known
        self.on_other = on_other  # called with a word that is no queue's name, but about a chore of the workers' own
        self.working = False  # whether hints can be relied on: else the worker polls often
        self.asks_for_room = False
        self._room, self._has_room = 0, threading.Event()
        self._patience = PATIENCE

    @property
    def room(self) -> int:
        """How many jobs could begin at once, as the intake says."""
        return self._room

    @room.setter
    def room(self, jobs: int) -> None:
        self._room = jobs
        if jobs:
            self._has_room.set()
        else:
            self._has_room.clear()

    @property
    def patience(self) -> float:
        return self._patience

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
                self.working, self._patience = True, listener.patience
                self.on_wake_up()  # what arrived while nobody listened,
                bell.ring()  # and what came to be delivered
                while not self._stop_asked.is_set():
                    self.hear(listener)
        except NoWakeUps as error:
            logger.warning("%s", error)
            self.stop()
        except WakeUpsAway as away:
            self.do_without()
            self._stop_asked.wait(away.retry_in)
        finally:
            self.do_without()

    def hear(self, listener: Listener) -> None:
        """What is heard by nobody else is left to those with room: who has none looks by itself when there is some."""
        self.asks_for_room = listener.shared
        is_deaf = listener.shared and not self._has_room.wait(LOOK_UP)
        heard = listener.wait(0.0 if is_deaf else LOOK_UP, self.room)
        for word in heard:
            if word == CALL:
                bell.ring()
            elif is_word(word):
                self.on_other(word)
        served = [queue for queue in heard if queue in self.queues or (not self.queues and not is_word(queue))]
        if served:
            self.room = 0  # until it has looked
            self.on_wake_up(*served)

    def do_without(self) -> None:
        if self.working:
            self.working = False
            self.on_wake_up()  # who sleeps for long because hints would come must look, and sleep for less
