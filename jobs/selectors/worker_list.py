"""Finds workers: all of them with what they hold, or the one that a person names."""

import re
from collections.abc import Collection
from typing import Any

from django.db.models import Count, Q

from jobs.exceptions import InvalidInput, WorkerNotFound
from jobs.lifecycle.new_job import check_text
from jobs.models import Worker, WorkerQuerySet
from jobs.states import WorkerStatus

ID_BEGINNING = re.compile(r"[0-9a-fA-F\-]{4,36}")


def list_workers(statuses: Collection[str] = ()) -> WorkerQuerySet:
    """Workers with the number of jobs they hold, by name, the newest first; no statuses means all."""
    workers: Any = Worker.objects.annotate(holding=Count("running_jobs")).order_by("name", "-registered_at")
    return workers.filter(status__in=statuses) if statuses else workers


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
