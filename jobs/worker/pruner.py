"""The worker's pruner: what is old is deleted by one worker at a time, in a thread of its own, for it may take long."""

import random
from collections.abc import Callable, Sequence

from jobs.conf import conf
from jobs.worker.queue_client import QueueClient
from jobs.worker.repeating import Repeating

FIRST = 60.0  # seconds: a worker that is started anew every half an hour prunes, too, if it is its turn


class Pruner(Repeating):
    def __init__(self, client: QueueClient) -> None:
        super().__init__("pruner", client)
        self._wait = FIRST

    def pause(self) -> float:
        """With jitter, so that workers started together do not ask together."""
        return min(self._wait, conf.PRUNE_INTERVAL) * random.uniform(0.8, 1.2)

    def steps(self) -> Sequence[Callable[[], None]]:
        return (self.prune,)

    def prune(self) -> None:
        self._wait = conf.PRUNE_INTERVAL
        self.client.prune_in_turn(lambda: not self._stop_asked.is_set())
        self.client.hang_up()  # it is not needed for long
