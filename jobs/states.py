"""Every state there is, and the moves allowed between them: data only."""

from collections.abc import Mapping
from enum import StrEnum


class Status(StrEnum):
    """What is stored of a job."""

    PENDING = "pending"
    RUNNING = "running"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"


ACTIVE = (Status.PENDING, Status.RUNNING)
TERMINAL = (Status.COMPLETED, Status.FAILED, Status.CANCELLED)

TRANSITIONS: Mapping[Status, frozenset[Status]] = {
    Status.PENDING: frozenset({Status.RUNNING, Status.FAILED, Status.CANCELLED}),
    Status.RUNNING: frozenset(
        {Status.PENDING, Status.COMPLETED, Status.FAILED, Status.CANCELLED},
    ),
    Status.COMPLETED: frozenset({Status.PENDING}),
    Status.FAILED: frozenset({Status.PENDING}),
    Status.CANCELLED: frozenset({Status.PENDING}),
}


class Hold(StrEnum):
    """Why a pending job stays out of the ready index.

    One at a time: first it waits for other jobs, then for its time, and only what is ready meets a limit.
    """

    NONE = ""
    WAITING = "waiting"
    SCHEDULED = "scheduled"
    LIMITED = "limited"


# Not due yet: these are counted and shown as scheduled.
FOR_LATER = (Hold.WAITING, Hold.SCHEDULED)


class OnParentFailure(StrEnum):
    """What becomes of a job when one that it waits for fails or is cancelled."""

    CANCEL = "cancel"
    FAIL = "fail"
    RUN = "run"


class LimitTarget(StrEnum):
    """What a limit is about: all jobs of a queue, of a kind, of a scope, or with the same limit key."""

    QUEUE = "queue"
    KIND = "kind"
    SCOPE = "scope"
    KEY = "key"


class Bucket(StrEnum):
    """What queue counters count: the statuses, with jobs that wait for their time or for others told apart."""

    PENDING = "pending"
    SCHEDULED = "scheduled"
    RUNNING = "running"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"


def bucket_of(status: str, hold: str) -> Bucket:
    if status == Status.PENDING and hold in FOR_LATER:
        return Bucket.SCHEDULED
    return Bucket(status)


class ShownState(StrEnum):
    """What people are shown: derived from a job's row, never stored."""

    UNCLAIMED = "unclaimed"
    SCHEDULED = "scheduled"
    RETRYING = "retrying"
    CLAIMED = "claimed"
    EXPIRED = "expired"
    STALLED = "stalled"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"


# What is stored of a job that is shown so.
STORED_AS: Mapping[ShownState, Status] = {
    ShownState.UNCLAIMED: Status.PENDING,
    ShownState.SCHEDULED: Status.PENDING,
    ShownState.RETRYING: Status.PENDING,
    ShownState.CLAIMED: Status.RUNNING,
    ShownState.EXPIRED: Status.RUNNING,
    ShownState.STALLED: Status.RUNNING,
    ShownState.COMPLETED: Status.COMPLETED,
    ShownState.FAILED: Status.FAILED,
    ShownState.CANCELLED: Status.CANCELLED,
}


class WorkerStatus(StrEnum):
    ACTIVE = "active"
    IDLE = "idle"
    BUSY = "busy"
    OFFLINE = "offline"
    DISABLED = "disabled"


# A worker in one of these may claim; offline and disabled ones may not.
LIVE_WORKER = (WorkerStatus.ACTIVE, WorkerStatus.IDLE, WorkerStatus.BUSY)


class WorkerType(StrEnum):
    LOCAL = "local"
    REMOTE = "remote"


class PhaseStatus(StrEnum):
    PENDING = "pending"
    RUNNING = "running"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"


# Derived: a phase that still says running although its attempt is over.
PHASE_INTERRUPTED = "interrupted"


class QualityStatus(StrEnum):
    PENDING = "pending"
    IN_PROGRESS = "in_progress"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"
    SKIPPED = "skipped"


UNFINISHED_PHASE = (PhaseStatus.PENDING, PhaseStatus.RUNNING)
UNFINISHED_QUALITY = (QualityStatus.PENDING, QualityStatus.IN_PROGRESS)


class Accelerator(StrEnum):
    """Whether a job wants a GPU worker: no, if one is free, or nothing else."""

    NONE = ""
    PREFER = "prefer"
    REQUIRE = "require"


class Verdict(StrEnum):
    """How a worker says its claim ended."""

    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"
    RELEASED = "released"
    CRASHED = "crashed"
    WAITING = "waiting"


class DeliveryStatus(StrEnum):
    """Where a message to a webhook stands."""

    PENDING = "pending"
    DELIVERED = "delivered"
    FAILED = "failed"


class Unique(StrEnum):
    """How long a dedupe key keeps other jobs away."""

    ACTIVE = "active"
    EVER = "ever"


class CatchUp(StrEnum):
    """Which missed ticks of a periodic job are made up for."""

    NONE = "none"
    ONE = "one"
    ALL = "all"


class TickOutcome(StrEnum):
    """What became of a tick of a periodic job."""

    ENQUEUED = "enqueued"
    SKIPPED = "skipped"  # an earlier job of it had not ended
    MISSED = "missed"  # nobody was there in time, and it is not made up for
    REFUSED = "refused"  # it cannot become a job
    BY_HAND = "by_hand"  # an operator's "run now": no tick of the schedule


class EventName(StrEnum):
    ENQUEUED = "enqueued"
    CLAIMED = "claimed"
    STARTED = "started"
    PROGRESSED = "progressed"
    PHASE_COMPLETED = "phase_completed"
    QUALITY_COMPLETED = "quality_completed"
    RETRYING = "retrying"
    RELEASED = "released"
    WAITING = "waiting"
    REAPED = "reaped"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCEL_REQUESTED = "cancel_requested"
    CANCELLED = "cancelled"
    REQUEUED = "requeued"
    REPRIORITISED = "reprioritised"
    EXPEDITED = "expedited"
    MOVED = "moved"
    STALE = "stale"
    DELETED = "deleted"
    WEBHOOK_DELIVERED = "webhook_delivered"
    WEBHOOK_FAILED = "webhook_failed"
    WORKER_ONLINE = "worker_online"
    WORKER_OFFLINE = "worker_offline"
    WORKER_DISABLED = "worker_disabled"
    WORKER_ENABLED = "worker_enabled"
    WORKER_DRAINED = "worker_drained"
    WORKER_REMOVED = "worker_removed"
    QUEUE_PAUSED = "queue_paused"
    QUEUE_RESUMED = "queue_resumed"
    LIMIT_SET = "limit_set"
    LIMIT_REMOVED = "limit_removed"


# What a webhook is told of: the ends of a job, and its progress where that is asked for.
ANNOUNCED = (EventName.COMPLETED, EventName.FAILED, EventName.CANCELLED, EventName.PROGRESSED)


class AlertName(StrEnum):
    """What people are told of by themselves."""

    STALE_JOB_RECOVERED = "stale_job_recovered"
    JOB_MAX_RETRIES_EXCEEDED = "job_max_retries_exceeded"
    JOB_FAILED_PATTERN = "job_failed_pattern"
    JOB_STALLED = "job_stalled"
    WORKER_OFFLINE = "worker_offline"
    WORKER_STARTUP = "worker_startup"
    WORKER_SHUTDOWN = "worker_shutdown"
    QUEUE_DEPTH_HIGH = "queue_depth_high"
    ERROR_RATE_HIGH = "error_rate_high"
    NO_CLAIMS = "no_claims"
    DISK_LOW = "disk_low"
    LONG_TRANSACTION = "long_transaction"
