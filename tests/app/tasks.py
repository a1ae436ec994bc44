"""Tasks as an app written for any backend of the framework declares them, and some with options of our own."""

import os
from typing import TYPE_CHECKING, Any

import django

from jobs.exceptions import Fatal, RetryLater
from jobs.tasks_backend import JobyardTaskContext
from jobs.tasks_backend import task as jobyard_task
from tests.app.history import note

if TYPE_CHECKING or django.VERSION >= (6, 0):
    from django.tasks import TaskContext, task
else:
    from django_tasks import TaskContext, task


@task()
def noop(*args: Any, **kwargs: Any) -> None:
    return None


@task
def bare(*args: Any, **kwargs: Any) -> None:
    return None


@task()
async def noop_async(*args: Any, **kwargs: Any) -> None:
    return None


@task
def echo(*args: Any, **kwargs: Any) -> list[Any]:
    return [list(args), kwargs]


@task
async def echo_async(value: Any) -> Any:
    return value


@task
def meaning_of_life() -> int:
    return 42


@task
def fails(message: str = "it broke") -> None:
    raise ValueError(message)


@task
async def fails_async() -> None:
    raise ValueError("it broke")


@task
def raises_an_exception_in_an_exception() -> None:
    raise ValueError(ValueError("inner"))


@task
def exits() -> None:
    raise SystemExit(1)


@task
def is_interrupted() -> None:
    raise KeyboardInterrupt("Ctrl-C")


@task
def dies() -> None:
    os._exit(3)


@task
def returns_a_function() -> Any:
    return lambda: True


@task
def returns(what: str) -> Any:
    return {"nan": float("nan"), "nul": "a\0b", "large": "x" * 2_000_000, "keys": {1: (2, 3)}, "bytes": b"text"}[what]


@task(takes_context=True)
def own_id(context: "TaskContext[Any, Any]") -> str:
    return context.task_result.id


@task(takes_context=True)
def own_attempt(context: "TaskContext[Any, Any]", expected: int) -> dict[str, Any]:
    assert context.attempt == expected
    result = context.task_result
    return {"status": result.status, "workers": result.worker_ids, "enqueued": result.enqueued_at is not None}


@jobyard_task(takes_context=True, max_attempts=3, backoff="fixed:0")
def works_at(context: JobyardTaskContext[Any, Any], attempt: int) -> int:
    context.job.progress(50, "half way")
    if context.attempt < attempt:
        raise ValueError(f"attempt {context.attempt} does not work")
    return context.attempt


@jobyard_task(max_attempts=3)
def gives_up() -> None:
    raise Fatal("this cannot work")


@jobyard_task(max_attempts=1)
def waits() -> None:
    raise RetryLater(60, count=False)


@jobyard_task(isolation="process", max_runtime=30, unique="active", subject="a title", scope="library-1")
def alone(number: int) -> int:
    return os.getpid()


@jobyard_task(queue_name="reports", takes_context=True)
async def noted(context: JobyardTaskContext[Any, Any], history: str) -> str:
    note(history, "task", context.job)
    return f"attempt {context.attempt}"


def not_a_task() -> None:
    raise AssertionError("only tasks are run")


def hidden() -> None:
    return None


shown = task(hidden)  # under another name: a worker would find the bare function
