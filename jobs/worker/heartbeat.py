"""The worker's heartbeat: it says that the worker lives, renews its claims, and brings orders."""

import logging
from collections.abc import Callable, Sequence
from dataclasses import asdict

from jobs.exceptions import WorkerNotFound
from jobs.handlers.base import Orders
from jobs.worker.leases import lease_clock
from jobs.worker.ledger import Ledger
from jobs.worker.options import WorkerTally
from jobs.worker.queue_client import QueueClient
from jobs.worker.repeating import Repeating

logger = logging.getLogger("jobs.worker")


class Heartbeat(Repeating):
    def __init__(
        self, client: QueueClient, ledger: Ledger, on_orders: Callable[[Orders], None], tally: WorkerTally
    ) -> None:
        super().__init__("heartbeat", client)
        self.ledger, self.on_orders, self.tally = ledger, on_orders, tally

    def pause(self) -> float:
        return self.client.heartbeat_interval

    def steps(self) -> Sequence[Callable[[], None]]:
        return (self.beat,)

    def beat(self) -> None:
        claims, began = self.ledger.claims(), lease_clock()
        try:
            orders = self.client.heartbeat(claims, asdict(self.tally))
        except WorkerNotFound:
            logger.error("this worker's row is gone; registering anew")
            self.client.register()
            orders = Orders(lost=tuple(claims))
        self.ledger.renewed(set(claims).difference(orders.lost), began)
        self.on_orders(orders)
