"""The backend: tasks go into the queue as jobs, and results are read from their rows."""

from __future__ import annotations  # the generics are only for type checkers

from collections.abc import Mapping
from typing import Any, ParamSpec, TypeVar

from django.core import checks

from jobs.exceptions import InvalidInput
from jobs.handlers.enqueueing import Enqueued, JobOptions
from jobs.tasks.check_settings import problems_of_settings
from jobs.tasks.compat import BaseTaskBackend, InvalidTask, Task, TaskResult, TaskResultDoesNotExist, task_enqueued
from jobs.tasks.results import find_result, new_result
from jobs.tasks.stored import KIND, KIND_ISOLATED, as_json, check_reachable, payload_of
from jobs.tasks.task import RUN_OPTIONS, JobyardTask

P = ParamSpec("P")
R = TypeVar("R")

LONGEST_SUBJECT = 500
# As in the contract, which knows no retries. OPTIONS, the task or using() may allow more.
DEFAULTS: Mapping[str, Any] = {"max_attempts": 1}


class JobyardBackend(BaseTaskBackend):
    """`TASKS = {"default": {"BACKEND": "jobs.tasks_backend.JobyardBackend"}}`"""

    task_class = JobyardTask
    supports_defer = True
    supports_async_task = True
    supports_get_result = True
    supports_priority = True

    def __init__(self, alias: str, params: dict[str, Any]) -> None:
        super().__init__(alias, params)
        self.params = params

    def enqueue(self, task: Task[P, R], args: Any, kwargs: Any) -> TaskResult[P, R]:
        """Inside the caller's transaction: there is nothing to wait for, and nothing to undo."""
        self.validate_task(task)
        check_reachable(task)
        payload = payload_of(self.alias, task, args, kwargs)
        answer = self.store(task, payload)
        if not answer.created:
            met: TaskResult[P, R] = self.met(answer.job_id)
            return met
        result = new_result(
            task, str(answer.job_id), as_json(list(args)), as_json(kwargs), self.alias, answer.enqueued_at
        )
        task_enqueued.send(sender=type(self), task_result=result)
        return result

    def store(self, task: Task[..., Any], payload: dict[str, Any]) -> Enqueued:
        from jobs.lifecycle.enqueue import enqueue  # models cannot be imported before Django is set up

        run = {name: self.option(task, name) for name in RUN_OPTIONS}
        kind = KIND_ISOLATED if run.pop("isolation") == "process" else KIND
        options: JobOptions = {
            "queue": task.queue_name,
            "priority": int(task.priority),
            "subject": getattr(task, "subject", None) or task.module_path[:LONGEST_SUBJECT],
            "scope": getattr(task, "scope", None) or "",
            "run_after": task.run_after,
            "dedupe_key": dedupe_key(task, payload),
            "unique": getattr(task, "unique", None),
            **run,  # type: ignore[typeddict-item]
        }
        return enqueue(kind, payload, **options)

    def option(self, task: Task[..., Any], name: str) -> Any:
        """The task's own, else the backend's, else the default."""
        own = getattr(task, name, None)
        return self.options.get(name, DEFAULTS.get(name)) if own is None else own

    def met(self, job_id: int) -> Any:
        try:
            return find_result(str(job_id))
        except TaskResultDoesNotExist:
            raise InvalidTask(f"Job {job_id}, which is no task, has the same dedupe key in this queue.") from None

    def get_result(self, result_id: str) -> TaskResult[..., Any]:
        return find_result(result_id)

    def validate_task(self, task: Task[..., Any]) -> None:
        from jobs.lifecycle.new_job import check_queue

        super().validate_task(task)
        try:
            check_queue(task.queue_name)
        except InvalidInput as error:
            raise InvalidTask(str(error)) from None

    def check(self, **kwargs: Any) -> list[checks.CheckMessage]:
        return list(problems_of_settings(self.alias, self.params))


def dedupe_key(task: Task[..., Any], payload: dict[str, Any]) -> str | None:
    """`unique` without a key: the same task with the same arguments, whenever and wherever it is to run."""
    from jobs.handlers.keys import derived_key

    key: str | None = getattr(task, "dedupe_key", None)
    if key is None and getattr(task, "unique", None):
        return derived_key(payload["path"], {"args": payload["args"], "kwargs": payload["kwargs"]})
    return key
