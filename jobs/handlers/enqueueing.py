"""`build.enqueue(month=5)`: a decorated function knows its kind, and type checkers know its arguments. No ORM."""

import inspect
from array import array
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Generic, Literal, ParamSpec, Protocol, TypedDict, TypeVar, Unpack

from jobs.exceptions import InvalidInput, JobyardError

P = ParamSpec("P")
R_co = TypeVar("R_co", covariant=True)


class JobOptions(TypedDict, total=False):
    """How a job is to be run; what is left out comes from the kind, then from the settings."""

    queue: str | None
    priority: int
    subject: str
    scope: str
    dedupe_key: str | None
    unique: Literal["active", "ever"] | None
    force: bool
    run_after: datetime | None
    max_attempts: int | None
    backoff: str | None
    max_runtime: float | None
    webhook_url: str | None
    accelerator: str | None
    after: Sequence[Any]
    on_parent_failure: Literal["cancel", "fail", "run"]
    limit_key: str | None
    size: int
    allow_unknown: bool


@dataclass(frozen=True)
class Enqueued:
    """The answer: the new job, or the one that was met because it has the same key."""

    job_id: int
    created: bool
    enqueued_at: datetime | None = field(default=None, compare=False)  # by the database's clock; None if it was met


@dataclass
class EnqueuedMany:
    """What became of many: the ids of the new jobs, in the order given, and of those that were met."""

    created: "array[int]" = field(default_factory=lambda: array("q"))
    met: "array[int]" = field(default_factory=lambda: array("q"))


class NoQueue(JobyardError):
    """The kind {kind!r} cannot be enqueued here: the app 'jobs' is not set up in this process."""


class Enqueue(Protocol):
    def __call__(self, kind: str, payload: Any = None, **options: Unpack[JobOptions]) -> Enqueued: ...


class EnqueueEach(Protocol):
    def __call__(self, kind: str, payloads: Iterable[Any], **options: Unpack[JobOptions]) -> EnqueuedMany: ...


class Door:
    """Where jobs go in. The app opens it: this side must not know the database."""

    enqueue: Enqueue | None = None
    enqueue_each: EnqueueEach | None = None


@dataclass(frozen=True)
class Enqueuer(Generic[P]):
    """A kind, the functions that its payload must fit, and options: `build.using(queue="slow").enqueue(month=5)`."""

    kind: str
    functions: Callable[[], tuple[Callable[..., Any], ...]]
    options: JobOptions = field(default_factory=JobOptions)

    def using(self, **options: Unpack[JobOptions]) -> "Enqueuer[P]":
        """The same with options of `jobs.enqueue`: queue, priority, run_after, unique, dedupe_key, subject …"""
        check_options(options)
        return Enqueuer(self.kind, self.functions, {**self.options, **options})

    def enqueue(self, *args: P.args, **kwargs: P.kwargs) -> Enqueued:
        """Store a job with these arguments, inside the caller's transaction."""
        if Door.enqueue is None:
            raise NoQueue(kind=self.kind)
        return Door.enqueue(self.kind, self.payload(args, kwargs), **self.options)

    def enqueue_many(self, arguments: Iterable[Mapping[str, Any]]) -> EnqueuedMany:
        """Store a job for each of these arguments by name: all or none, in few round trips. Takes a generator."""
        if Door.enqueue_each is None:
            raise NoQueue(kind=self.kind)
        if isinstance(arguments, (str, bytes, Mapping)) or not isinstance(arguments, Iterable):
            raise InvalidInput(
                f"enqueue_many() of {self.kind!r} takes a list or generator, with a dictionary of arguments for each "
                f"job, not {type(arguments).__name__}; for one job there is enqueue()."
            )
        return Door.enqueue_each(self.kind, arguments, **self.options)

    def payload(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments by name, as they are stored; refused where a function would not take them."""
        payload: dict[str, Any] = dict(kwargs)
        for function in self.functions():
            payload = named_arguments(self.kind, function, args, kwargs)
        return payload


def check_options(options: Mapping[str, Any]) -> None:
    known = JobOptions.__annotations__
    if unknown := [option for option in options if option not in known]:
        raise InvalidInput(f"A job has no option {unknown[0]!r}; choose from {', '.join(known)}.")


def named_arguments(
    kind: str, function: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> dict[str, Any]:
    signature = inspect.signature(function)
    try:
        bound = signature.bind(None, *args, **kwargs)  # None for the context
    except TypeError as error:
        raise InvalidInput(f"enqueue() of {kind!r} was called wrongly: {error}.") from None
    named: dict[str, Any] = {}
    for name, value in list(bound.arguments.items()):
        how = signature.parameters[name].kind
        if how == inspect.Parameter.VAR_KEYWORD:
            named |= value
        elif how == inspect.Parameter.VAR_POSITIONAL:
            raise InvalidInput(f"enqueue() of {kind!r}: pass its arguments by name, for a payload has names only.")
        else:
            named[name] = value
    first = next(iter(signature.parameters))
    named.pop(first, None)
    return named


class HandlerFunction(Protocol[P, R_co]):
    """A function under `@handler`: it can still be called, and it can be enqueued."""

    @property
    def __name__(self) -> str: ...
    def __call__(self, ctx: Any, /, *args: P.args, **kwargs: P.kwargs) -> R_co: ...
    def enqueue(self, *args: P.args, **kwargs: P.kwargs) -> Enqueued: ...
    def enqueue_many(self, arguments: Iterable[Mapping[str, Any]]) -> EnqueuedMany: ...
    def using(self, **options: Unpack[JobOptions]) -> Enqueuer[P]: ...


def enqueuable(kind: str, function: Callable[..., Any]) -> Any:
    """The function itself, with `enqueue` and the like on it; a bound method takes no attributes and gets none."""
    if not inspect.ismethod(function):
        enqueuer: Enqueuer[...] = Enqueuer(kind, lambda: (function,))
        for name in ("enqueue", "enqueue_many", "using"):
            setattr(function, name, getattr(enqueuer, name))
    return function
