"""How many jobs a worker claims at once, and from which queues first. Pure."""

import random
from collections.abc import Sequence
from dataclasses import dataclass

AHEAD = 0.1  # seconds of work that a slot is given at once: what a crash can take with it unbegun
MOST_PER_SLOT = 1000


@dataclass(frozen=True)
class QueueShare:
    """A queue to serve: in the given order, or with a weight, in proportion to it."""

    name: str
    weight: int | None = None


class BatchSize:
    """Short jobs are claimed and finished in batches, long ones one by one: the size follows from how long they take.

    One slow job brings it down at once, many quick ones bring it up again.
    """

    def __init__(self) -> None:
        self._average = AHEAD

    def note(self, seconds: float) -> None:
        pace = 0.5 if seconds > self._average else 0.1
        self._average += pace * (seconds - self._average)

    @property
    def per_slot(self) -> int:
        return max(1, min(MOST_PER_SLOT, int(AHEAD / max(self._average, 1e-6))))


def queue_order(shares: Sequence[QueueShare]) -> list[str]:
    """The queues as this claim should look at them; weights are drawn anew for each."""
    if not any(share.weight for share in shares):
        return [share.name for share in shares]
    drawn = sorted(shares, key=lambda share: random.random() ** (1 / (share.weight or 1)), reverse=True)
    return [share.name for share in drawn]
