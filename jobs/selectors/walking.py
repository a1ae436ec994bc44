"""Reads along the ids of jobs for what no index finds: look by look, so that no page takes longer than people wait.

What is rare, or nowhere, would else be looked for in millions of rows by one statement that nobody can stop.
"""

from dataclasses import dataclass
from time import monotonic

from jobs.models import Job, JobQuerySet

FIRST_LOOK = 50_000  # ids; each further look is at twice as many
PATIENCE = 0.4  # seconds after which no further look begins


@dataclass(frozen=True)
class Walked:
    jobs: list[Job]
    reached: int | None  # the id where it stopped for want of time; what lies beyond was not looked at


def walk(found: JobQuerySet, size: int, *, before: int | None = None, after: int | None = None) -> Walked:
    """Up to `size` jobs below an id (None: from the newest on), the newest first; or above one, the oldest first."""
    upwards = after is not None
    place = after if after is not None else before if before is not None else newest_id() + 1
    began, width, jobs = monotonic(), FIRST_LOOK, list[Job]()
    end: int | None = None
    while True:
        further = place + width if upwards else place - width
        jobs += between(found, place, further)[: size - len(jobs)]
        if len(jobs) >= size:
            return Walked(jobs, None)
        end = end if end is not None else newest_id() if upwards else oldest_id()
        if further >= end if upwards else further <= end:
            return Walked(jobs, None)
        if monotonic() - began > PATIENCE:
            return Walked(jobs, further)
        place, width = further, 2 * width


def between(found: JobQuerySet, place: int, further: int) -> JobQuerySet:
    """Without the first and with the last."""
    if further > place:
        return found.filter(pk__gt=place, pk__lte=further).order_by("pk")
    return found.filter(pk__lt=place, pk__gte=further).order_by("-pk")


def newest_id() -> int:
    return Job.objects.order_by("-pk").values_list("pk", flat=True).first() or 0


def oldest_id() -> int:
    return Job.objects.order_by("pk").values_list("pk", flat=True).first() or 0
