"""What comes next: how long until a scheduled job is due."""

from datetime import timedelta
from typing import Any

from django.db.models import DurationField, ExpressionWrapper, F

from jobs.db import Now
from jobs.models import Job


def next_due_in() -> float | None:
    """Seconds, by the database's clock, until the first scheduled job is due (0: one is now); None: there is none."""
    scheduled: Any = Job.objects.scheduled()
    wait = ExpressionWrapper(F("run_after") - Now(), output_field=DurationField())
    first: timedelta | None = scheduled.annotate(wait=wait).values_list("wait", flat=True).first()
    return None if first is None else max(0.0, first.total_seconds())
