"""A task of this backend: the contract's, and options of the queue that the contract does not have."""

from __future__ import annotations  # the generics are only for type checkers

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from datetime import datetime
from typing import Any, Concatenate, Literal, ParamSpec, TypedDict, TypeVar, Unpack, overload

from jobs.exceptions import InvalidInput
from jobs.handlers.context import Context
from jobs.handlers.kind_options import checked_options
from jobs.handlers.registry import Isolation
from jobs.tasks.compat import (
    DEFAULT_TASK_BACKEND_ALIAS,
    DEFAULT_TASK_PRIORITY,
    DEFAULT_TASK_QUEUE_NAME,
    GenericContext,
    GenericTask,
    InvalidTask,
    Task,
)

P = ParamSpec("P")
R = TypeVar("R")

# Of these, OPTIONS of the backend can say what holds for all its tasks.
RUN_OPTIONS = ("max_attempts", "backoff", "max_runtime", "isolation")


class QueueOptions(TypedDict, total=False):
    """What this backend offers beyond the contract."""

    max_attempts: int | None
    backoff: str | None
    max_runtime: float | None
    isolation: Isolation | None
    dedupe_key: str | None
    unique: Literal["active", "ever"] | None
    subject: str | None
    scope: str | None


class UsingOptions(QueueOptions, total=False):
    priority: int | None
    queue_name: str | None
    run_after: datetime | None
    backend: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class JobyardTask(GenericTask[P, R]):
    """What `@task` makes where the backend is Jobyard's."""

    max_attempts: int | None = None  # executions, the first one included
    backoff: str | None = None
    max_runtime: float | None = None
    isolation: Isolation | None = None
    dedupe_key: str | None = None
    unique: Literal["active", "ever"] | None = None
    subject: str | None = None
    scope: str | None = None

    def __post_init__(self) -> None:
        GenericTask.__post_init__(self)  # not super(): a class with slots is made anew, and is another one then
        check_run_options(self.module_path, {name: getattr(self, name) for name in RUN_OPTIONS})

    def using(self, **options: Unpack[UsingOptions]) -> JobyardTask[P, R]:
        """The same task with other options; None leaves one as it is."""
        known = {each.name for each in fields(self)} - {"func", "takes_context"}
        if unknown := options.keys() - known:
            raise TypeError(f"using() has no option {sorted(unknown)[0]!r}; choose from {', '.join(sorted(known))}.")
        changes: dict[str, Any] = {name: value for name, value in options.items() if value is not None}
        return replace(self, **changes)


def check_run_options(name: str, options: dict[str, Any]) -> None:
    try:
        checked_options(name, {option: value for option, value in options.items() if value is not None})
    except InvalidInput as error:
        raise InvalidTask(str(error)) from None


@dataclass(frozen=True, slots=True, kw_only=True)
class JobyardTaskContext(GenericContext[P, R]):  # type: ignore[misc]  # the stub forgot that it is frozen, too
    """The contract's context; `context.job` is what a handler of Jobyard is given: progress, checkpoint, logger …"""

    job: Context


TakesContext = Callable[Concatenate[JobyardTaskContext[Any, Any], P], R]


@overload
def task(function: Callable[P, R], /) -> JobyardTask[P, R]: ...
@overload
def task(
    *,
    priority: int = DEFAULT_TASK_PRIORITY,
    queue_name: str = DEFAULT_TASK_QUEUE_NAME,
    backend: str = DEFAULT_TASK_BACKEND_ALIAS,
    takes_context: Literal[False] = False,
    **options: Unpack[QueueOptions],
) -> Callable[[Callable[P, R]], JobyardTask[P, R]]: ...
@overload
def task(
    *,
    priority: int = DEFAULT_TASK_PRIORITY,
    queue_name: str = DEFAULT_TASK_QUEUE_NAME,
    backend: str = DEFAULT_TASK_BACKEND_ALIAS,
    takes_context: Literal[True],
    **options: Unpack[QueueOptions],
) -> Callable[[TakesContext[P, R]], JobyardTask[P, R]]: ...
def task(function: Any = None, /, **options: Any) -> Any:
    """The framework's `@task`, with this queue's options, which any other backend leaves unread.

    So a test may switch TASKS to the immediate or the dummy backend, and the task is still the same.
    """

    def decorate(func: Callable[..., Any]) -> JobyardTask[..., Any]:
        return JobyardTask(func=func, **options)

    return decorate if function is None else decorate(function)


def changed(task: Task[P, R], **changes: Any) -> Task[P, R]:
    """As `replace`, but without validation: what is stored was valid once, and operators may have moved it since."""
    other: Task[P, R] = object.__new__(type(task))
    for each in fields(task):
        object.__setattr__(other, each.name, changes.get(each.name, getattr(task, each.name)))
    return other
