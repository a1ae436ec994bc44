"""A locked job: what the verbs need of a row they are about to move; payloads and results stay where they are."""

from dataclasses import dataclass, fields
from datetime import datetime
from uuid import UUID

from jobs.models import Job


@dataclass(slots=True)
class LockedJob:
    """A row as it was locked. A model instance takes thirty times as long to make."""

    id: int
    kind: str
    queue: str
    status: str
    hold: str
    priority: int
    attempt: int
    max_attempts: int
    backoff: str
    crashes: int
    claim_id: UUID | None
    worker_id: UUID | None
    last_worker_id: UUID | None
    last_worker_name: str
    started_at: datetime | None
    progress: int
    cancel_requested_at: datetime | None
    subject: str
    webhook_url: str

    @property
    def pk(self) -> int:
        return self.id


AnyJob = Job | LockedJob
LOCKED_FIELDS = tuple(field.name for field in fields(LockedJob))
