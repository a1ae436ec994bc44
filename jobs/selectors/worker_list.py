"""Finds workers: all of them with what they hold, or the one that a person names."""

import re
from collections import defaultdict
from collections.abc import Collection
from typing import Any
from uuid import UUID

from django.db.models import Case, Count, Q, Value, When

from jobs.exceptions import InvalidInput, WorkerNotFound
from jobs.lifecycle.new_job import check_text
from jobs.models import Job, JobEvent, Worker, WorkerQuerySet
from jobs.selectors.job_pages import LARGE
from jobs.states import WorkerStatus

ID_BEGINNING = re.compile(r"[0-9a-fA-F\-]{4,36}")


def list_workers(statuses: Collection[str] = ()) -> WorkerQuerySet:
    """Workers with the number of jobs they hold, by name, the newest first; no statuses means all."""
    workers: Any = Worker.objects.annotate(holding=Count("running_jobs")).order_by("name", "-registered_at")
    return workers.filter(status__in=statuses) if statuses else workers


def latest_workers(statuses: Collection[str] = (), limit: int = 200) -> list[Worker]:
    """For a page: those that may claim first, then the newest."""
    away = Case(When(status=WorkerStatus.OFFLINE, then=Value(1)), default=Value(0))
    return list(list_workers(statuses).order_by(away, "-registered_at")[:limit])


def jobs_of_workers(worker_ids: Collection[UUID], limit: int = 1000) -> defaultdict[UUID, list[Job]]:
    """What each of them runs, longest held first."""
    jobs = Job.objects.running().filter(worker_id__in=worker_ids).with_state().defer(*LARGE).order_by("claimed_at")
    held: defaultdict[UUID, list[Job]] = defaultdict(list)
    for job in jobs[:limit]:
        assert job.worker_id
        held[job.worker_id].append(job)
    return held


def events_of_worker(worker: Worker, limit: int = 50) -> list[JobEvent]:
    """What happened to the worker itself, the latest first."""
    events = JobEvent.objects.filter(job_id=None, worker_id=worker.pk, at__gte=worker.registered_at)
    return list(events.order_by("-at", "-id")[:limit])


def find_worker(called: str, prefer: Collection[WorkerStatus]) -> Worker:
    """The worker with this name, id or beginning of an id. Where several fit, those in a preferred status count."""
    matches = list(Worker.objects.filter(called_so(called)).order_by("-registered_at")[:100])
    best = [worker for worker in matches if worker.status in prefer] or matches
    if not best:
        raise WorkerNotFound(worker_id=repr(called))
    if len(best) > 1:
        ids = ", ".join(str(worker.pk) for worker in best[:5])
        raise InvalidInput(f"{len(best)} workers are called {called!r}; name one by its id: {ids}.")
    return best[0]


def called_so(called: str) -> Q:
    name = Q(name=check_text("worker name", called, 200))
    return name | Q(pk__startswith=called.lower()) if ID_BEGINNING.fullmatch(called) else name
