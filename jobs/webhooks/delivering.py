"""Delivers what is due, several at once: a host that is slow holds up few of the others."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass
from threading import Thread
from typing import Protocol

from jobs.webhooks.message import Delivery, Sent
from jobs.webhooks.trying import try_once

LOOK_AGAIN = 1.0  # seconds, while something is under way: more may have become due


class Outbox(Protocol):
    """Where the messages are."""

    def take_deliveries(self, limit: int, room: Callable[[str], int]) -> Sequence[Delivery]:
        """Messages that are due, to send now; `room` says how many more a host may be sent at once."""
        ...

    def record_deliveries(self, sent: Sequence[Sent]) -> None: ...


@dataclass
class DeliveryTally:
    delivered: int = 0
    not_delivered: int = 0

    def count(self, sent: Sequence[Sent]) -> None:
        for each in sent:
            self.delivered += each.delivered
            self.not_delivered += not each.delivered


Flying = Mapping["Future[Sent]", Delivery]


def deliver(outbox: Outbox, slots: int, enough: Callable[[], bool] = lambda: False) -> DeliveryTally:
    """Send until nothing is due, or it is `enough`; what is under way then is waited for and recorded."""
    tally = DeliveryTally()
    flying: dict[Future[Sent], Delivery] = {}
    try:
        while True:
            free = slots - len(flying)
            if free and not enough():
                taken = outbox.take_deliveries(free, room_beside(flying, slots))
                flying |= {begin(delivery): delivery for delivery in taken}
            if not flying:
                return tally
            done, _ = wait(flying, timeout=LOOK_AGAIN, return_when=FIRST_COMPLETED)
            sent = [future.result() for future in done]
            for future in done:
                del flying[future]
            if sent:
                outbox.record_deliveries(sent)
                tally.count(sent)
    finally:
        wait(flying)


def begin(delivery: Delivery) -> "Future[Sent]":
    """In a thread that nobody need wait for: a pool's would keep a process from ending until all have answered."""
    future: Future[Sent] = Future()

    def run() -> None:
        try:
            future.set_result(try_once(delivery))
        except BaseException as error:
            future.set_exception(error)

    Thread(target=run, name="webhook", daemon=True).start()
    return future


def room_beside(flying: Flying, slots: int) -> Callable[[str], int]:
    """No host gets more than half of the slots, so that a slow one leaves room for others."""
    most, now = max(1, slots // 2), Counter(delivery.host for delivery in flying.values())
    return lambda host: most - now[host]
