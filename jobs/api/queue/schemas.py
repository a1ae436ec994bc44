"""What the queue's API says of jobs: the names of the fields are a promise."""

from datetime import datetime
from typing import Any
from uuid import UUID

from ninja import Field, Schema

from jobs.states import EventName, QualityStatus, ShownState, Status


class Counts(Schema):
    """Exact: as many rows as there are. Pending, running, completed, errors and cancelled are all jobs together."""

    pending: int = Field(description="Waiting, those scheduled for later included.")
    scheduled: int = Field(description="How many of the pending ones wait for their time, or for their next attempt.")
    running: int
    completed: int
    errors: int = Field(description="Failed for good.")
    cancelled: int


class QueueCounts(Counts):
    paused: bool
    oldest_pending_seconds: float | None = Field(description="How long the oldest job that is due has been waiting.")


class DepthAnswer(Counts):
    """In total, and for each queue that holds jobs or is paused."""

    queues: dict[str, QueueCounts]


class WorkerRef(Schema):
    id: UUID
    name: str


class JobSummary(Schema):
    id: int
    kind: str
    queue: str
    state: ShownState = Field(description="What people are shown; finer than the status.")
    status: Status
    subject: str
    scope: str
    priority: int
    progress: int = Field(description="Percent.")
    step: str = Field(description="What it is doing now.")
    attempt: int = Field(description="Executions since the last manual retry.")
    max_attempts: int
    dedupe_key: str | None
    worker: WorkerRef | None = Field(description="Who has it, or had it last.")
    error: str | None = Field(description="What the last attempt said that failed; null once the job is completed.")
    enqueued_at: datetime
    run_after: datetime = Field(description="Not before this.")
    started_at: datetime | None = Field(description="When this, or the last, attempt began.")
    finished_at: datetime | None

    @staticmethod
    def resolve_worker(job: Any) -> dict[str, Any] | None:
        return {"id": job.last_worker_id, "name": job.last_worker_name} if job.last_worker_id else None

    @staticmethod
    def resolve_error(job: Any) -> str | None:
        return job.standing_error or None


class JobList(Schema):
    jobs: list[JobSummary] = Field(description="The newest first.")
    next: str | None = Field(description="The cursor of the next page; null after the last one.")


class Phase(Schema):
    name: str
    position: int
    status: str = Field(description="pending, running, completed, failed, cancelled, or interrupted by a crash.")
    progress: int
    weight: float
    attempt: int
    result: Any
    error: str | None
    started_at: datetime | None
    finished_at: datetime | None

    @staticmethod
    def resolve_status(phase: Any) -> str:
        return phase.shown_status

    @staticmethod
    def resolve_error(phase: Any) -> str | None:
        return phase.error or None


class Quality(Schema):
    name: str
    status: QualityStatus
    progress: int
    segments_total: int | None
    segments_completed: int
    details: Any
    error: str | None
    started_at: datetime | None
    finished_at: datetime | None

    @staticmethod
    def resolve_error(quality: Any) -> str | None:
        return quality.error or None


class Event(Schema):
    id: int | None  # none of the first, where one event tells of a hundred jobs that were enqueued together
    at: datetime
    name: EventName
    attempt: int | None
    worker: str | None
    reason: str | None

    @staticmethod
    def resolve_worker(event: Any) -> str | None:
        return event.worker_name or None

    @staticmethod
    def resolve_reason(event: Any) -> str | None:
        return event.reason or None


class JobDetail(JobSummary):
    payload: dict[str, Any]
    result: Any
    checkpoint: Any
    error: str | None = Field(description="What the last attempt said that failed, also if a later one completed it.")
    traceback: str | None
    crashes: int = Field(description="Attempts that ended with their worker.")
    cancel_requested_at: datetime | None
    claimed_at: datetime | None
    lease_expires_at: datetime | None
    phases: list[Phase]
    qualities: list[Quality]
    events: list[Event] = Field(description="The history, oldest first: the last 500 events.")

    @staticmethod
    def resolve_error(job: Any) -> str | None:
        return job.last_error or None

    @staticmethod
    def resolve_traceback(job: Any) -> str | None:
        return job.last_traceback or None

    @staticmethod
    def resolve_phases(job: Any) -> Any:
        return list(job.phases.all())

    @staticmethod
    def resolve_qualities(job: Any) -> Any:
        return list(job.qualities.all())
