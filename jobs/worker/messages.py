"""What passes between the supervisor and the child processes that run handlers."""

from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from jobs.handlers.base import Child, ClaimedJob, ClaimRef, Outcome, Report, Wish


class Reason(StrEnum):
    """Why an attempt is to stop before its handler has ended."""

    CANCELLED = "cancelled"
    LOST = "lost"
    STOPPING = "stopping"  # the worker is
    DISABLED = "disabled"  # the worker is
    LEASE = "lease"  # it could not be renewed, and the job is exclusive
    TIMEOUT = "timeout"
    STALLED = "stalled"


RELEASED_BECAUSE = {
    Reason.STOPPING: "its worker is shutting down",
    Reason.DISABLED: "its worker was disabled",
    Reason.LEASE: "its lease could not be renewed, and it must not run without one",
}

# To a child


@dataclass(frozen=True, slots=True)
class Run:
    """Run these jobs; each has its place on the board."""

    jobs: tuple[tuple[int, ClaimedJob], ...]


@dataclass(frozen=True, slots=True)
class Stop:
    """Tell the handler at its next call; with `force`, interrupt it wherever it is."""

    claim: ClaimRef
    reason: Reason
    force: bool = False


@dataclass(frozen=True, slots=True)
class Reply:
    number: int
    said: "Exception | Granted | None" = None


@dataclass(frozen=True, slots=True)
class Granted:
    """What a wish brought: all jobs that the attempt's job has spawned."""

    children: tuple[Child, ...]


# From a child


@dataclass(frozen=True, slots=True)
class Told:
    """A report that nobody waits for."""

    report: Report


@dataclass(frozen=True, slots=True)
class Asked:
    """A report that must be stored, or a wish, before the handler goes on; with neither: does the claim hold?"""

    number: int
    claim: ClaimRef
    report: Report | None = None
    wish: Wish | None = None


class Ended(NamedTuple):
    """How an attempt ended; no outcome where the claim was lost, for then nothing may be said any more."""

    claim: ClaimRef
    outcome: Outcome | None
    seconds: float


Order = Run | Stop | Reply
Word = Told | Asked | Ended
