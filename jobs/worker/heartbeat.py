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
SOONER = 0.25  # of the usual pause, where somebody had the row of a job locked


class Heartbeat(Repeating):
    def __init__(
        self, client: QueueClient, ledger: Ledger, on_orders: Callable[[Orders], None], tally: WorkerTally
    ) -> None:
        super().__init__("heartbeat", client)
        self.ledger, self.on_orders, self.tally = ledger, on_orders, tally
        self._renewed_all = True

    def pause(self) -> float:
        return self.client.heartbeat_interval * (1 if self._renewed_all else SOONER)

    def steps(self) -> Sequence[Callable[[], None]]:
        return (self.beat,)

    def beat(self) -> None:
        (claims, lists_all), began = self.ledger.listed(), lease_clock()
        try:
            orders = self.client.heartbeat(claims, asdict(self.tally), lists_all=lists_all)
        except WorkerNotFound:
            logger.error("this worker's row is gone; registering anew")
            self.client.register()
            orders = Orders(lost=tuple(claims))
        self.ledger.renewed(set(claims).difference(orders.lost, orders.unrenewed), began)
        self._renewed_all = not orders.unrenewed
        self.on_orders(orders)
