"""A locked job: what the verbs need of a row they are about to move; payloads and results stay where they are."""

from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import Case, Exists, F, TextField, When
from django.db.models.functions import Cast, Coalesce
from django.db.models.lookups import IsNull

from jobs.db import SecondsSince
from jobs.models import Job, Limit
from jobs.models.job import is_limited
from jobs.states import Status


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
    last_worker_name: str
    has_started: bool
    progress: int
    cancel_requested_at: datetime | None
    subject: str
    scope: str
    limit_key: str
    awaited: bool
    webhook_url: str
    age: float  # seconds: while it waits, since it was due; while it runs, since it began
    limited: bool  # whether a limit may concern it

    @property
    def pk(self) -> int:
        return self.id


AnyJob = Job | LockedJob
AGE = SecondsSince(Case(When(status=Status.RUNNING, then=Coalesce("started_at", "claimed_at")), default=F("run_after")))


EXPRESSIONS = {
    "enqueued_at": Cast("enqueued_at", TextField()),
    "age": AGE,
    "has_started": IsNull(F("started_at"), False),  # when is not asked: to make a time of it takes as long as all else
    "limited": is_limited(),
    "opening": Exists(Limit.objects.opening()),
    "others_are_due": Exists(Job.objects.due()),
}
LOCKED_COLUMNS = ("started_at", *(field.name for field in fields(LockedJob) if field.name not in EXPRESSIONS))


def row_of(made: type[LockedJob]) -> tuple[Any, ...]:
    """What `values_list` is asked for, so that a row is the arguments of the class."""
    return tuple(EXPRESSIONS.get(field.name, field.name) for field in fields(made))


LOCKED_FIELDS = row_of(LockedJob)
