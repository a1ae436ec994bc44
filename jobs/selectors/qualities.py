"""How far the qualities of jobs are. As long as jobs that it spawned work for one, what those tell of it adds up.

It is added when it is read: nobody has to write into the row of a job that waits, and nothing can drift.
"""

from collections.abc import Collection, Iterable, Mapping
from datetime import datetime
from typing import Any

from django.db.models import F, Max, Min, Sum

from jobs.models import Dependency, Job, QualityProgress
from jobs.states import ACTIVE, QualityStatus

UNTIL_JOINED = 99  # per cent: the job itself has the last word
Qualities = dict[int, list[QualityProgress]]


def qualities_of(job_ids: Collection[int]) -> Qualities:
    """By job, in the order in which they were first told of; fps, speed and the seconds left are in the details."""
    found: Qualities = {job_id: [] for job_id in job_ids}
    for row in QualityProgress.objects.filter(job__in=job_ids).order_by("id"):
        found[row.job_id].append(row)
    add_parts([row for rows in found.values() for row in rows if is_open(row)])
    return found


def is_open(row: QualityProgress) -> bool:
    """Told of, but not under way in the job itself: its children may know more."""
    return row.status == QualityStatus.PENDING and bool(row.segments_total)


def add_parts(rows: Iterable[QualityProgress]) -> None:
    by_name = {(row.job_id, row.name): row for row in rows}
    if not by_name:
        return
    for told in told_by_children({job_id for job_id, _ in by_name}):
        row = by_name.get((told["parent"], told["name"]))
        if row is not None:
            add_part(row, told)


def told_by_children(job_ids: Collection[int]) -> Iterable[Mapping[str, Any]]:
    """One row for each quality of each job that has not ended."""
    active = Job.objects.with_ids(job_ids).filter(status__in=ACTIVE)
    spawned = Dependency.objects.filter(job__in=active.values("pk")).spawned()
    parts = spawned.filter(needs__qualities__isnull=False).order_by()
    named = parts.values(parent=F("job_id"), name=F("needs__qualities__name"))
    return named.annotate(
        segments=Sum("needs__qualities__segments_completed"),
        began=Min("needs__qualities__started_at"),
        last=Max("needs__progressed_at"),
    )


def add_part(row: QualityProgress, told: Mapping[str, Any]) -> None:
    total = row.segments_total or 1
    row.status = QualityStatus.IN_PROGRESS
    row.segments_completed = min(total, told["segments"] or 0)
    row.progress = min(UNTIL_JOINED, 100 * row.segments_completed // total)
    row.details = {**row.details, "eta": eta(row, told["began"], told["last"])} if isinstance(row.details, dict) else {}


def eta(row: QualityProgress, began: datetime | None, last: datetime | None) -> int | None:
    """Seconds that were left when one of them last reported, as fast as so far."""
    if not began or not last or not row.segments_completed or row.segments_total is None:
        return None
    left = row.segments_total - row.segments_completed
    return max(0, round((last - began).total_seconds() * left / row.segments_completed))
