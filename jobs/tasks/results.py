"""A job as the task framework's result, whether it waits, runs here or has ended."""

from __future__ import annotations  # the generics are only for type checkers

import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from jobs.exceptions import AttemptEnded, Cancelled
from jobs.handlers.base import class_of_error, describe_error
from jobs.states import Status
from jobs.tasks.compat import Task, TaskError, TaskResult, TaskResultDoesNotExist, TaskResultStatus
from jobs.tasks.stored import KINDS, stored_task

if TYPE_CHECKING:  # a task may be declared before models can be imported
    from jobs.models import Job

P = ParamSpec("P")
R = TypeVar("R")

JOB_ID = re.compile(r"[1-9][0-9]{0,18}")
LARGEST_ID = 2**63 - 1
STATUSES: Mapping[str, TaskResultStatus] = {
    Status.PENDING: TaskResultStatus.READY,  # also between two attempts
    Status.RUNNING: TaskResultStatus.RUNNING,
    Status.COMPLETED: TaskResultStatus.SUCCESSFUL,
    Status.FAILED: TaskResultStatus.FAILED,
    Status.CANCELLED: TaskResultStatus.FAILED,  # the contract has no word for it; its error says so
}


def new_result(
    task: Task[P, R],
    result_id: str,
    args: list[Any],
    kwargs: dict[str, Any],
    alias: str,
    enqueued_at: datetime | None,
    status: TaskResultStatus = TaskResultStatus.READY,
) -> TaskResult[P, R]:
    return TaskResult(
        task=task,
        id=result_id,
        status=status,
        enqueued_at=enqueued_at,
        started_at=None,
        last_attempted_at=None,
        finished_at=None,
        args=args,
        kwargs=kwargs,
        backend=alias,
        errors=[],
        worker_ids=[],
    )


def amend(result: TaskResult[P, R], **changes: Any) -> None:
    """Results are frozen for those who read them; a backend writes them like this."""
    for name, value in changes.items():
        object.__setattr__(result, name, value)


def find_result(result_id: str) -> TaskResult[..., Any]:
    """The result of a job by its id; one that is no id, of no job, or of a job of another kind, does not exist."""
    from jobs.models import Job

    text = str(result_id)
    if not JOB_ID.fullmatch(text) or int(text) > LARGEST_ID:
        raise TaskResultDoesNotExist(result_id)
    job = Job.objects.filter(pk=int(text), kind__in=KINDS).first()
    if job is None:
        raise TaskResultDoesNotExist(result_id)
    return result_of(job)


def result_of(job: Job) -> TaskResult[..., Any]:
    from jobs.selectors.executions import executions

    payload, ran = job.payload, executions(job)
    task = stored_task(payload, priority=job.priority, queue=job.queue)
    result = new_result(
        task, str(job.pk), payload["args"], payload["kwargs"], payload["backend"], job.enqueued_at, STATUSES[job.status]
    )
    amend(
        result,
        started_at=ran[0].at if ran else None,
        last_attempted_at=ran[-1].at if ran else None,
        finished_at=job.finished_at,
        errors=list(errors_of(job)),
        worker_ids=[execution.worker_name for execution in ran],
        _return_value=job.result if job.status == Status.COMPLETED else None,
    )
    return result


def errors_of(job: Job) -> Sequence[TaskError]:
    """What the last attempt raised; only that one is kept."""
    if job.status == Status.CANCELLED:
        return [ended_by(Cancelled(job_id=job.pk))]
    if job.status == Status.COMPLETED or not job.last_error:
        return []
    if not job.last_error_class:  # nothing was raised: it ran too long, or its process died
        return [ended_by(AttemptEnded(job.last_error))]
    return [TaskError(exception_class_path=job.last_error_class, traceback=job.last_traceback or job.last_error)]


def ended_by(error: BaseException) -> TaskError:
    return TaskError(exception_class_path=class_of_error(error), traceback=f"{class_of_error(error)}: {error}\n")


def raised(error: BaseException) -> TaskError:
    """What the running task raised, as it will be stored."""
    return TaskError(exception_class_path=class_of_error(error), traceback=describe_error(error)[1])
