"""What passes between the supervisor and the child processes that run handlers."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple
from uuid import UUID

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


class Run(NamedTuple):  # it travels faster than a dataclass
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


# How words travel


class Completed(NamedTuple):
    """Attempts of one claim call that ended as most do. To pack each by itself takes as long as to run a short job."""

    claim_id: UUID
    job_ids: list[int]
    seconds: list[float]


WITHOUT_RESULT = Outcome.completed(ClaimRef(0, UUID(int=0)))[1:]


def packed(words: Iterable[Word]) -> list[Word | Completed]:
    """As they are sent. The order in which attempts ended one after the other is kept."""
    packed: list[Word | Completed] = []
    last: Completed | None = None
    for word in words:
        if not isinstance(word, Ended) or word.outcome is None or word.outcome[1:] != WITHOUT_RESULT:
            last = None
            packed.append(word)
            continue
        (job_id, claim_id), _, seconds = word
        if last is None or last.claim_id != claim_id:
            last = Completed(claim_id, [], [])
            packed.append(last)
        last.job_ids.append(job_id)
        last.seconds.append(seconds)
    return packed


def unpacked(sent: Iterable[Word | Completed]) -> list[Word]:
    words: list[Word] = []
    for each in sent:
        if isinstance(each, Completed):
            claims = [ClaimRef(job_id, each.claim_id) for job_id in each.job_ids]
            words += [
                Ended(claim, Outcome.completed(claim), seconds)
                for claim, seconds in zip(claims, each.seconds, strict=True)
            ]
        else:
            words.append(each)
    return words
