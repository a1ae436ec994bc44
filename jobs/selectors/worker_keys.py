"""Finds keys of remote workers: all there are, those of a worker, and the one a person names."""

from typing import Any
from uuid import UUID

from jobs.exceptions import NotFound
from jobs.lifecycle.new_job import check_text
from jobs.models import Worker, WorkerKey
from jobs.selectors.worker_list import find_worker
from jobs.states import WorkerStatus, WorkerType


class KeyNotFound(NotFound):
    """There is no key {prefix!r}; list_worker_keys shows them all."""


class NotRemote(NotFound):
    """Worker {name} has the database at hand and no keys."""


def list_keys(worker_id: UUID | None = None, *, all_of_them: bool = False) -> list[WorkerKey]:
    """By worker, the newest last."""
    keys: Any = WorkerKey.objects.with_problem().select_related("worker").order_by("worker__name", "pk")
    keys = keys if worker_id is None else keys.filter(worker=worker_id)
    return list(keys if all_of_them else keys.filter(problem=""))


def find_key(prefix: str) -> WorkerKey:
    found = WorkerKey.objects.select_related("worker").filter(prefix=check_text("prefix of the key", prefix, 8)).first()
    if found is None:
        raise KeyNotFound(prefix=prefix)
    return found


def find_remote_worker(called: str) -> Worker:
    """By its name, which it has alone among remote ones, or by its id."""
    named = Worker.objects.filter(name=check_text("worker name", called, 200), type=WorkerType.REMOTE).first()
    worker = named or find_worker(called, list(WorkerStatus))
    if worker.type != WorkerType.REMOTE:
        raise NotRemote(name=worker.name)
    return worker
