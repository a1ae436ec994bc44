"""Who is there: workers by status, and who holds what, where, since when."""

from dataclasses import dataclass

from django.db.models import Count

from jobs.models import Job, JobQuerySet, Worker
from jobs.states import WorkerStatus


def workers_by_status() -> dict[str, int]:
    counted = dict(Worker.objects.values_list("status").annotate(number=Count("pk")))
    return {status.value: counted.get(status.value, 0) for status in WorkerStatus}


@dataclass(frozen=True)
class Slots:
    """Of the live workers together: idle is also who runs something and has a slot free."""

    in_use: int
    total: int


def slots() -> Slots:
    """A worker may hold more jobs than it has slots: some of those are only about to begin."""
    live = Worker.objects.live().annotate(holding=Count("running_jobs")).values_list("slots", "holding")
    counted = [(min(held, there), there) for there, held in live]
    return Slots(sum(used for used, _ in counted), sum(there for _, there in counted))


@dataclass(frozen=True)
class Holding:
    """A running job and the worker that has it."""

    job: Job
    hostname: str
    pid: int


def holdings(limit: int = 100) -> list[Holding]:
    """Running jobs with their holders, longest held first."""
    running: JobQuerySet = Job.objects.running().with_state().defer("payload", "result", "checkpoint")
    jobs = list(running.order_by("claimed_at")[:limit])
    # Not by a join: Django would make it an inner one, and hide what is held by a worker whose row is gone.
    workers = Worker.objects.in_bulk({job.worker_id for job in jobs})
    return [held(job, workers.get(job.worker_id)) for job in jobs]


def held(job: Job, worker: Worker | None) -> Holding:
    return Holding(job, worker.hostname, worker.pid) if worker else Holding(job, "", 0)
