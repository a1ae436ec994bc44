"""All that is known after a run: what the processes wrote down, and what the database says."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from tests.chaos.history import Line
from tests.chaos.witness import LEASES, PUBLISHED

JOBS = "SELECT id, kind, status, attempt, max_attempts, dedupe_key FROM jobs_job ORDER BY id"
EVENTS = """
SELECT id, job_id, name, COALESCE(claim_id::text, ''), outcome, worker_name,
    extract(epoch FROM pg_xact_commit_timestamp(xmin))::float8, attempt, reason
FROM jobs_jobevent WHERE job_id IS NOT NULL ORDER BY id
"""
COUNTED = """
SELECT bucket, sum(jobs)::int FROM
    (SELECT bucket, jobs FROM jobs_queuetotal UNION ALL SELECT bucket, jobs FROM jobs_queuedelta) AS both_of_them
WHERE bucket <> '' GROUP BY bucket HAVING sum(jobs) <> 0
"""


@dataclass(frozen=True)
class JobRow:
    id: int
    kind: str
    status: str
    attempt: int = 1
    max_attempts: int = 3
    key: str = ""


@dataclass(frozen=True)
class Event:
    id: int
    job: int
    name: str
    claim: str = ""
    outcome: str = ""
    worker: str = ""
    at: float = 0.0  # when it was committed
    attempt: int | None = None  # of a claim: its own; of all else: as it was before
    reason: str = ""


@dataclass(frozen=True)
class Lease:
    """As it was given with the claim, or with a renewal of it."""

    job: int
    claim: str
    ends: float
    at: float = 0.0  # when it was committed


@dataclass(frozen=True)
class Story:
    lines: Sequence[Line] = ()
    jobs: Sequence[JobRow] = ()
    events: Sequence[Event] = ()
    published: Sequence[tuple[int, str]] = ()
    counted: Mapping[str, int] = field(default_factory=dict)
    leases: Sequence[Lease] = ()

    @cached_property
    def of_job(self) -> Mapping[int, list[Event]]:
        """In the order in which they became true: each is written under the lock of the job's row."""
        found: defaultdict[int, list[Event]] = defaultdict(list)
        for event in sorted(self.events, key=lambda event: event.id):
            found[event.job].append(event)
        return found

    @cached_property
    def claim_ends(self) -> Mapping[tuple[int, str], Event]:
        """The event that ended each claim."""
        return {(event.job, event.claim): event for event in self.events if event.claim and event.name in ENDS}

    @cached_property
    def leases_of(self) -> Mapping[tuple[int, str], list[Lease]]:
        found: defaultdict[tuple[int, str], list[Lease]] = defaultdict(list)
        for lease in self.leases:
            found[lease.job, lease.claim].append(lease)
        return found

    def said(self, *what: str) -> list[Line]:
        return [line for line in self.lines if line.what in what]


ENDED = ("completed", "failed", "cancelled")
BACK = ("retrying", "released", "waiting", "reaped")
ENDS = (*ENDED, *BACK)


def names(story: Story, job: int) -> str:
    return " ".join(event.name for event in story.of_job[job])


def told_by(database: Any, lines: Sequence[Line]) -> Story:
    return Story(
        lines,
        [JobRow(*row) for row in database.execute(JOBS)],
        [Event(*row) for row in database.execute(EVENTS)],
        list(database.execute(PUBLISHED)),
        dict(database.execute(COUNTED).fetchall()),
        [Lease(*row) for row in database.execute(LEASES)],
    )
