"""What waits for the clerk."""

from collections.abc import Callable
from dataclasses import dataclass, field

from jobs.handlers.base import ClaimedJob, ClaimRef, Outcome
from jobs.worker.ledger import NEVER
from jobs.worker.messages import Asked, Granted
from jobs.worker.queue_client import ClaimOrder
from jobs.worker.reporting import Digest

Reply = Callable[[Exception | Granted | None], None]


@dataclass
class Tray:
    outcomes: list[Outcome] = field(default_factory=list)
    since: float = NEVER  # when the first of them came
    for_notary: list[tuple[ClaimedJob, Outcome]] = field(default_factory=list)
    reports: dict[ClaimRef, Digest] = field(default_factory=dict)
    asked: list[tuple[Asked, Reply]] = field(default_factory=list)
    claim: ClaimOrder | None = None
