"""What a worker and the queue tell each other beyond jobs and outcomes: what is ordered, who starts, who lives."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from jobs.handlers.base import ClaimedJob, ClaimRef, Orders

MAX_CLAIM = 1000  # jobs by one claim: a worker asks for no more, and the queue gives no more


@dataclass(frozen=True)
class ClaimOrder:
    """Up to `limit` jobs; of those that need a process of their own, no more than `isolated_limit`."""

    claim_id: UUID
    queues: Sequence[str]
    limit: int
    isolated_kinds: Mapping[str, int] = field(default_factory=dict)  # with the slots that one of each takes
    isolated_limit: int | None = None
    is_routine: bool = False  # nobody said that there is work: it is time to look, in case a wake-up was lost

    @property
    def leaves_some(self) -> bool:
        """Whether there may be jobs for which there was no room: of those that must begin at once, the heaviest."""
        heaviest = max(self.isolated_kinds.values(), default=1)
        return self.isolated_limit is not None and self.isolated_limit < heaviest


@dataclass(frozen=True)
class Look:
    """A look for work by a worker that can run `kinds`; where there is none, the answer waits for it, in seconds.

    To a completion of the kinds that are `completed_there` there is more than a result: the server must know them.
    """

    claim_id: UUID
    queues: Sequence[str]
    limit: int
    isolated_kinds: Mapping[str, int] = field(default_factory=dict)
    isolated_limit: int | None = None
    kinds: Sequence[str] = ()
    completed_there: Sequence[str] = ()
    wait: float = 0.0

    @property
    def order(self) -> ClaimOrder:
        return ClaimOrder(self.claim_id, self.queues, self.limit, self.isolated_kinds, self.isolated_limit)


@dataclass(frozen=True)
class Looked:
    """What a look brought; where it brought nothing, why, and in how many seconds something is due."""

    jobs: Sequence[ClaimedJob] = ()
    reason: str = ""
    next_due_in: float | None = None


@dataclass(frozen=True)
class Start:
    """A process begins to work for the worker whose key it has."""

    process: UUID
    hostname: str
    pid: int
    boot_id: str = ""
    pid_namespace: int = 0
    start_ticks: int = 0
    version: str = ""
    queues: Sequence[str] = ()
    slots: int = 1
    capabilities: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Started:
    """Who the worker is, and what it must know of the server."""

    worker_id: UUID
    name: str
    server_time: str  # ISO 8601
    server_version: str
    heartbeat_interval: float
    longest_wait: float  # seconds that a look may wait for work


@dataclass(frozen=True)
class Beat:
    """A sign of life: renews the claims it lists."""

    claims: Sequence[ClaimRef] = ()
    version: str = ""
    metadata: Mapping[str, Any] | None = None
    lists_all: bool = True  # False while a claim is being made, whose jobs are in no list yet


@dataclass(frozen=True)
class Beaten:
    """The answer to a sign of life."""

    orders: Orders
    server_time: str = ""
    required_version: str = ""  # empty: any will do
