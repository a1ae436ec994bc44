"""What comes next: whether there is work now, how long until a scheduled job is due, or a limit opens."""

from datetime import timedelta
from typing import Any
from uuid import UUID

from django.db.models import DurationField, Exists, ExpressionWrapper, F

from jobs.db import Now
from jobs.models import Job, Limit, Worker
from jobs.states import Hold, Status


def work_waits(worker_id: UUID) -> bool:
    """Whether a worker may find something: a job that is ready, or due, or held back by a limit that is to open."""
    ready = Job.objects.filter(status=Status.PENDING, hold=Hold.NONE)
    something = Exists(ready) | Exists(Job.objects.due()) | Exists(Limit.objects.opening())
    return Worker.objects.filter(something, pk=worker_id).exists()


def next_due_in() -> float | None:
    """Seconds, by the database's clock, until the first scheduled job is due, or the first limit that only time opens
    does (0: now); None: there is none."""
    first = [*waits(Job.objects.scheduled(), "run_after"), *waits(Limit.objects.exclude(opens_at=None), "opens_at")]
    return max(0.0, min(first).total_seconds()) if first else None


def waits(rows: Any, column: str) -> list[timedelta]:
    """How long it is until the first of them."""
    wait = ExpressionWrapper(F(column) - Now(), output_field=DurationField())
    return list(rows.annotate(wait=wait).order_by(column).values_list("wait", flat=True)[:1])
