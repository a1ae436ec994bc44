"""The whole queue at a glance: what the dashboard, the admin's index and `queue_status` show."""

import math
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Count
from django.db.models.functions import Now

from jobs.conf import conf
from jobs.models import Job, JobEvent, QualityProgress, Worker
from jobs.progress import eta_seconds
from jobs.selectors.clock import database_now
from jobs.selectors.concerns import SIGNED_OFF, Concern, Disk, Snapshot, concerns
from jobs.selectors.depth import Depths, queue_depths
from jobs.selectors.limits import LimitState, limit_states
from jobs.selectors.throughput import DAY, HOUR, RATE_OVER, Activity, activity_by_queue, together
from jobs.selectors.workers import Holding, Slots, holdings, slots, workers_by_status
from jobs.states import LIVE_WORKER, EventName, QualityStatus

LOST_FOR = timedelta(days=1)  # a worker that was lost longer ago is no news


@dataclass(frozen=True)
class Overview:
    now: datetime
    depths: Depths
    rates: dict[str, Activity]  # per queue, over the last minutes
    last_hour: Activity
    last_day: Activity
    workers: dict[str, int]
    slots: Slots
    held: list[Holding]
    concerns: list[Concern]
    limits: list[LimitState]

    def rate_of(self, queue: str) -> Activity:
        return self.rates.get(queue, Activity(RATE_OVER))


def snapshot(
    depths: Depths,
    by_queue: dict[str, Activity],
    workers: dict[str, int],
    *,
    disks: tuple[Disk, ...] = (),
    longest_transaction: float = 0.0,
) -> Snapshot:
    """What the rules are asked about: of these, and of what is read here."""
    return Snapshot(
        queues=depths.queues,
        paused=depths.paused,
        last_hour=by_queue,
        claimed_lately=claimed_lately(),
        states=running_states(),
        lost_workers=lost_workers(),
        live_workers=sum(workers[status] for status in LIVE_WORKER),
        disks=disks,
        longest_transaction=longest_transaction,
    )


def overview(limit: int = 100) -> Overview:
    depths, by_queue, workers = queue_depths(), activity_by_queue(HOUR), workers_by_status()
    seen = snapshot(depths, by_queue, workers)
    return Overview(
        now=database_now(),
        depths=depths,
        rates=activity_by_queue(RATE_OVER),
        last_hour=together(by_queue.values(), HOUR),
        last_day=together(activity_by_queue(DAY).values(), DAY),
        workers=workers,
        slots=slots(),
        held=holdings(limit),
        concerns=concerns(seen),
        limits=limit_states(),
    )


def claimed_lately() -> dict[str, int]:
    minutes = max(1, math.ceil(conf.ALERT_NO_CLAIMS / 60))
    return {queue: lately.events[EventName.CLAIMED] for queue, lately in activity_by_queue(minutes).items()}


def running_states() -> dict[str, int]:
    running: Any = Job.objects.running().with_state().order_by()
    return dict(running.values_list("state").annotate(number=Count("pk")))


def lost_workers() -> tuple[str, ...]:
    """Workers that vanished lately, and that nobody of the same name has replaced or removed since."""
    lost = JobEvent.objects.filter(job_id=None, name=EventName.WORKER_OFFLINE, at__gt=Now() - LOST_FOR)
    ids = [pk for pk in lost.exclude(reason=SIGNED_OFF).values_list("worker_id", flat=True) if pk]
    if not ids:
        return ()
    back = Worker.objects.live().values("name")
    gone = Worker.objects.filter(pk__in=ids).exclude(status__in=LIVE_WORKER).exclude(name__in=back)
    return tuple(sorted(set(gone.values_list("name", flat=True))))


@dataclass(frozen=True)
class RunningJob:
    """A running job as it is shown: how far, how long still, quality by quality."""

    job: Job
    held_by: Holding
    eta: float | None
    qualities: list[QualityProgress]


def running_jobs(seen: Overview) -> list[RunningJob]:
    """With the qualities of those that have some."""
    by_job: dict[int, list[QualityProgress]] = {}
    rows = QualityProgress.objects.filter(job__in=[holding.job.pk for holding in seen.held])
    for row in rows.exclude(status=QualityStatus.SKIPPED).order_by("id"):
        by_job.setdefault(row.job_id, []).append(row)
    return [
        RunningJob(holding.job, holding, time_left(holding.job, seen.now), by_job.get(holding.job.pk, []))
        for holding in seen.held
    ]


def time_left(job: Job, now: datetime) -> float | None:
    return eta_seconds(job.progress, (now - job.started_at).total_seconds()) if job.started_at else None
