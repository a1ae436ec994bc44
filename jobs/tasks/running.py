"""What a worker's child does with a job that is a task: find it, tell that it starts, call it, tell how it ended."""

from __future__ import annotations  # the generics are only for type checkers

import inspect
from collections.abc import Awaitable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from django.utils import timezone

from jobs.exceptions import ClaimError, Fatal, RetryLater, StopRequested
from jobs.handlers.context import Context
from jobs.lifecycle.payload import check_storable
from jobs.tasks.compat import Task, TaskResult, TaskResultStatus, task_finished, task_started
from jobs.tasks.results import amend, find_result, new_result, raised
from jobs.tasks.stored import as_json, stored_task
from jobs.tasks.task import JobyardTaskContext

# How a task itself ends. An interruption and a cancelled coroutine are neither: those are the worker's doing.
OWN_ENDS = (Exception, SystemExit, KeyboardInterrupt)
FROM_OUTSIDE = (ClaimError, StopRequested)


def run_task(
    ctx: Context,
    path: str,
    args: list[Any],
    kwargs: dict[str, Any],
    backend: str,
    run_after: str | None = None,
) -> Any:
    """The handler of the kind. A coroutine goes back to the worker, which knows how to run and how to stop it."""
    task = stored_task(ctx.payload, priority=ctx.priority, queue=ctx.queue)
    running = RunningTask(ctx, task, running_result(ctx, task))
    return running.acall() if inspect.iscoroutinefunction(task.func) else running.call()


def running_result(ctx: Context, task: Task[..., Any]) -> TaskResult[..., Any]:
    """The first attempt needs no query for it; who ran the earlier ones is in the job's history."""
    if ctx.attempt > 1:
        return find_result(str(ctx.job_id))
    payload, now = ctx.payload, timezone.now()
    result = new_result(
        task, str(ctx.job_id), payload["args"], payload["kwargs"], payload["backend"], ctx.enqueued_at,
        TaskResultStatus.RUNNING,
    )  # fmt: skip
    amend(result, started_at=now, last_attempted_at=now, worker_ids=[ctx.worker_name])
    return result


@dataclass
class RunningTask:
    ctx: Context
    task: Task[..., Any]
    result: TaskResult[..., Any]
    returned: Any = None

    def call(self) -> Any:
        with self.announced():
            self.keep(self.task.call(*self.arguments(), **self.result.kwargs))
        return self.returned

    async def acall(self) -> Any:
        with self.announced():
            awaitable: Awaitable[Any] = self.task.acall(*self.arguments(), **self.result.kwargs)
            self.keep(await awaitable)
        return self.returned

    def arguments(self) -> list[Any]:
        context = [JobyardTaskContext(task_result=self.result, job=self.ctx)] if self.task.takes_context else []
        return [*context, *self.result.args]

    def keep(self, value: Any) -> None:
        """Only what comes back as it was is a return value; anything else fails the task, and says why."""
        self.returned = as_json(value)
        check_storable(self.returned, "return value", "MAX_RESULT")

    @contextmanager
    def announced(self) -> Iterator[None]:
        sender = type(self.task.get_backend())
        try:
            task_started.send(sender=sender, task_result=self.result)
            yield
        except FROM_OUTSIDE:
            raise
        except OWN_ENDS as error:
            if self.is_final(error):
                amend(self.result, errors=[raised(error)])
                self.finished(sender, TaskResultStatus.FAILED)
            raise
        amend(self.result, errors=[], _return_value=self.returned)
        self.finished(sender, TaskResultStatus.SUCCESSFUL)

    def is_final(self, error: BaseException) -> bool:
        """Whether no attempt follows: only then the task has finished."""
        if isinstance(error, RetryLater) and not error.count:
            return False
        return isinstance(error, Fatal) or self.ctx.attempt >= self.ctx.max_attempts

    def finished(self, sender: type, status: TaskResultStatus) -> None:
        """A receiver that fails is logged by Django: what the task did is done, and must not be done again for it."""
        amend(self.result, status=status, finished_at=timezone.now())
        task_finished.send_robust(sender=sender, task_result=self.result)
