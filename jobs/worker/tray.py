"""What waits for the clerk."""

from collections.abc import Callable, Collection
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

    def claims(self) -> set[ClaimRef]:
        """Of which something is said here."""
        said = {outcome.claim for outcome in self.outcomes} | {asked.claim for asked, _ in self.asked}
        return said | {outcome.claim for _, outcome in self.for_notary} | set(self.reports)

    def split(self, claims: Collection[ClaimRef]) -> "Tray":
        """All that is said of these claims, which is here no more. A claim's words stay together, and in order."""
        taken = Tray(
            [outcome for outcome in self.outcomes if outcome.claim in claims],
            self.since,
            [(job, outcome) for job, outcome in self.for_notary if outcome.claim in claims],
            {claim: self.reports.pop(claim) for claim in claims if claim in self.reports},
            [(asked, reply) for asked, reply in self.asked if asked.claim in claims],
        )
        self.outcomes = [outcome for outcome in self.outcomes if outcome.claim not in claims]
        self.for_notary = [(job, outcome) for job, outcome in self.for_notary if outcome.claim not in claims]
        self.asked = [(asked, reply) for asked, reply in self.asked if asked.claim not in claims]
        return taken

    def put_before(self, earlier: "Tray") -> None:
        """What was taken from here once, before all that has come since."""
        if earlier.outcomes:
            self.outcomes, self.since = earlier.outcomes + self.outcomes, earlier.since
        self.for_notary = earlier.for_notary + self.for_notary
        self.asked = earlier.asked + self.asked
        for claim, digest in earlier.reports.items():
            if claim in self.reports:
                digest.add(self.reports[claim].report())
            self.reports[claim] = digest
