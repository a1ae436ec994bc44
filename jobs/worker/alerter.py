"""The worker's alerter: tells people what needs their attention, in a thread of its own, so that no slow receiver
holds up the reaper."""

import random
from collections.abc import Callable, Sequence

from jobs.conf import conf
from jobs.worker.queue_client import QueueClient
from jobs.worker.repeating import Repeating

LAST_WORDS = 5.0  # seconds on top of what a receiver may take


class Alerter(Repeating):
    def __init__(self, client: QueueClient) -> None:
        super().__init__("alerts", client)

    @property
    def patience(self) -> float:
        return conf.ALERT_TIMEOUT + LAST_WORDS

    def pause(self) -> float:
        return conf.REAP_INTERVAL * random.uniform(0.8, 1.2)

    def steps(self) -> Sequence[Callable[[], None]]:
        return (self.send_alerts,)

    def send_alerts(self) -> None:
        """Between two looks it needs no connection: they are a minute apart."""
        try:
            self.client.send_alerts_in_turn()
        finally:
            self.client.hang_up()
