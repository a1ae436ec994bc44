"""What comes next: how long until a scheduled job is due, or a limit opens."""

from datetime import timedelta
from typing import Any

from django.db.models import DurationField, ExpressionWrapper, F

from jobs.db import Now
from jobs.models import Job, Limit


def next_due_in() -> float | None:
    """Seconds, by the database's clock, until the first scheduled job is due, or the first limit that only time opens
    does (0: now); None: there is none."""
    first = [*waits(Job.objects.scheduled(), "run_after"), *waits(Limit.objects.exclude(opens_at=None), "opens_at")]
    return max(0.0, min(first).total_seconds()) if first else None


def waits(rows: Any, column: str) -> list[timedelta]:
    """How long it is until the first of them."""
    wait = ExpressionWrapper(F(column) - Now(), output_field=DurationField())
    return list(rows.annotate(wait=wait).order_by(column).values_list("wait", flat=True)[:1])
