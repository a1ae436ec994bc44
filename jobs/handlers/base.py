"""What passes between a worker and a handler: the claimed job, the outcome, and what is reported meanwhile. No ORM."""

import traceback
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple
from uuid import UUID

from django.conf import settings

from jobs.conf import conf
from jobs.exceptions import ClaimError, JobLocked
from jobs.sanitise import clean_error, clean_text
from jobs.states import TERMINAL, PhaseStatus, QualityStatus, Status, Verdict


class Unset:
    """Tells "not mentioned" from None. There is one, also after a report has gone through a pipe."""

    def __reduce__(self) -> str:
        return "UNSET"


UNSET = Unset()
NOTHING: Mapping[str, Any] = {}


class ClaimRef(NamedTuple):
    """Names one claim on one job; every write of a worker carries it."""

    job_id: int
    claim_id: UUID

    def __hash__(self) -> int:
        """By the job alone: it is looked up a dozen times for each, and to hash a UUID takes as long as all else."""
        return hash(self.job_id)


@dataclass(frozen=True)
class PhaseReport:
    name: str
    position: int
    status: PhaseStatus
    progress: int = 0
    weight: float = 1
    result: Any = None
    error: str = ""


@dataclass(frozen=True)
class QualityReport:
    """What changed of a quality; None means unchanged."""

    name: str
    status: QualityStatus | None = None
    progress: int | None = None
    segments_total: int | None = None
    segments_completed: int | None = None
    error: str | None = None
    details: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class Report:
    """What a handler has to say while it runs; None means unchanged."""

    claim: ClaimRef
    progress: int | None = None
    step: str | None = None
    phases: Sequence[PhaseReport] = ()
    qualities: Sequence[QualityReport] = ()
    checkpoint: Any = UNSET


class ClaimedJob(NamedTuple):
    """A job as its worker gets it."""

    claim: ClaimRef
    kind: str
    queue: str
    payload: dict[str, Any]
    subject: str
    attempt: int
    max_attempts: int
    crashes: int
    lease: timedelta
    max_runtime: timedelta | None
    checkpoint: Any = None
    phase_results: Mapping[str, Any] = NOTHING
    completed_qualities: Sequence[str] = ()
    priority: int = 0
    enqueued_at: str = ""  # as the database writes it: hardly ever asked, and to read a time takes as long as all else
    trace_context: str | None = None

    @property
    def id(self) -> int:
        return self.claim.job_id

    @property
    def enqueued_moment(self) -> datetime | None:
        return stored_moment(self.enqueued_at)


@dataclass(frozen=True)
class Spawn:
    """A job that a running one makes; the options are those of `jobs.enqueue`."""

    kind: str
    payload: Any = None
    key: str | None = None  # under which it is known: the same key is the same job, in later attempts too
    options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Child:
    """A job that was spawned, as it stands."""

    id: int
    key: str
    kind: str
    status: Status
    progress: int = 0
    result: Any = None
    error: str = ""

    @property
    def ended(self) -> bool:
        return self.status in TERMINAL

    @property
    def completed(self) -> bool:
        return self.status == Status.COMPLETED


@dataclass(frozen=True)
class Wish:
    """What a handler asks of the queue: jobs to be made (none: only to hear of those that it made)."""

    spawn: tuple[Spawn, ...] = ()


class Outcome(NamedTuple):
    """How an attempt ended. Only `finish` persists it."""

    claim: ClaimRef
    verdict: Verdict
    result: Any = None
    error: str = ""
    traceback: str = ""
    fatal: bool = False
    retry_after: float | None = None
    count: bool = True  # type: ignore[assignment]  # nobody counts what is in an outcome
    error_class: str = ""  # the import path of what was raised
    waits_for: tuple[int, ...] | None = None  # of one that waits: for which of its jobs; None: for all

    @classmethod
    def completed(cls, claim: ClaimRef, result: Any = None) -> "Outcome":
        return cls(claim, Verdict.COMPLETED, result=result)

    @classmethod
    def failed(
        cls,
        claim: ClaimRef,
        error: str | BaseException,
        *,
        fatal: bool = False,
        retry_after: float | None = None,
        count: bool = True,
    ) -> "Outcome":
        text, trace = describe_error(error)
        return cls(claim, Verdict.FAILED, None, text, trace, fatal, retry_after, count, class_of_error(error))

    @classmethod
    def cancelled(cls, claim: ClaimRef) -> "Outcome":
        return cls(claim, Verdict.CANCELLED)

    @classmethod
    def released(cls, claim: ClaimRef, reason: str) -> "Outcome":
        return cls(claim, Verdict.RELEASED, error=reason)

    @classmethod
    def crashed(cls, claim: ClaimRef, error: str) -> "Outcome":
        """The process that ran it is gone, and its worker lives to tell."""
        return cls(claim, Verdict.CRASHED, error=error)

    @classmethod
    def waiting(cls, claim: ClaimRef, waits_for: tuple[int, ...] | None) -> "Outcome":
        """The handler goes on, from its beginning, when jobs that it spawned have ended."""
        return cls(claim, Verdict.WAITING, waits_for=waits_for)

    def refused(self, error: BaseException) -> "Outcome":
        """The outcome to record instead when this one cannot be written."""
        text, trace = describe_error(error)
        error_text = f"The outcome was refused: {text}"
        return Outcome(self.claim, Verdict.FAILED, error=error_text, traceback=trace, error_class=class_of_error(error))


class Answer(NamedTuple):
    """What became of an outcome: the status its job took, or why it was refused."""

    claim: ClaimRef
    status: Status | None = None
    refused: ClaimError | JobLocked | None = None
    repeated: bool = False
    # Of an attempt that failed: as its history says it, with the time until the next one. Without a status, and not
    # refused: why it was not written.
    reason: str = ""


@dataclass(frozen=True)
class Orders:
    """What a heartbeat brings back: jobs to cancel, claims that are lost, and whether to stop claiming.

    What is `unrenewed` is held, but somebody had its row locked: its lease ends when it would have without this beat.
    """

    cancel: tuple[ClaimRef, ...] = ()
    lost: tuple[ClaimRef, ...] = ()
    unrenewed: tuple[ClaimRef, ...] = ()
    drain: bool = False
    disabled: bool = False


def stored_moment(text: str) -> datetime | None:
    """A time as the database writes it, as the ORM would read it."""
    if not text:
        return None
    moment = datetime.fromisoformat(text)
    return moment.replace(tzinfo=(moment.tzinfo or UTC) if settings.USE_TZ else None)


LONGEST_CLASS = 200


def class_of_error(error: str | BaseException) -> str:
    """The import path of an exception's class; empty where only a text says what went wrong."""
    if isinstance(error, str):
        return ""
    return clean_text(f"{type(error).__module__}.{type(error).__qualname__}", LONGEST_CLASS)


def describe_error(error: str | BaseException) -> tuple[str, str]:
    """The text and the traceback to store: clean, cut, and free of secrets."""
    limit = conf.MAX_ERROR
    if isinstance(error, str):
        return clean_error(error, limit), ""
    try:
        trace = "".join(traceback.format_exception(error))
    except BaseException:  # an exception may break whoever prints it; its outcome is recorded all the same
        trace = ""
    message = clean_error(error, limit)
    name = type(error).__name__
    return clean_error(f"{name}: {message}" if message else name, limit), clean_error(trace, limit)
