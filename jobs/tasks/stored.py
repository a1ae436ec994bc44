"""How a task is kept in a job's payload: its import path, its arguments and its backend; and the way back."""

from __future__ import annotations  # the generics are only for type checkers

import json
from datetime import datetime
from typing import Any

from django.core.exceptions import SuspiciousOperation
from django.utils.module_loading import import_string

from jobs.tasks.compat import InvalidTask, Task, normalize_json
from jobs.tasks.task import changed

KIND = "django.task"
KIND_ISOLATED = "django.task.isolated"  # isolation belongs to a kind, so there are two
KINDS = (KIND, KIND_ISOLATED)


def payload_of(alias: str, task: Task[..., Any], args: Any, kwargs: Any) -> dict[str, Any]:
    payload = {"path": task.module_path, "args": as_json(list(args)), "kwargs": as_json(kwargs), "backend": alias}
    if task.run_after is not None:  # the job's own is moved by retries, and always set
        payload["run_after"] = task.run_after.isoformat()
    return payload


def as_json(value: Any) -> Any:
    """What the other side reads: refused as the framework does (TypeError, ValueError), keys as text."""
    return json.loads(json.dumps(normalize_json(value)))


def find_task(path: str) -> Task[..., Any]:
    """The task under an import path. Nothing but a task is ever given back: a payload may come from anywhere."""
    task = import_string(path)
    if not isinstance(task, Task):
        raise SuspiciousOperation(f"{path!r} is not a task: decorate the function of that name with @task.")
    return task


def check_reachable(task: Task[..., Any]) -> None:
    """A worker finds a task by its path: what cannot be found there is refused here, where it can be mended."""
    try:
        find_task(task.module_path)
    except (ImportError, SuspiciousOperation) as error:
        raise InvalidTask(
            f"A worker could not find the task {task.module_path!r}: {error} "
            "The decorated function must be an attribute of its module, under its own name."
        ) from None


def stored_task(payload: dict[str, Any], *, priority: int, queue: str) -> Task[..., Any]:
    """The task as it was enqueued, with the priority and queue that its job has now."""
    run_after = payload.get("run_after")
    return changed(
        find_task(payload["path"]),
        priority=priority,
        queue_name=queue,
        backend=payload["backend"],
        run_after=datetime.fromisoformat(run_after) if run_after else None,
    )
