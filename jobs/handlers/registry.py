"""The kinds of job there are: what runs each, and its defaults."""

import difflib
import inspect
import logging
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, Concatenate, Literal, ParamSpec, TypeVar

from jobs.exceptions import InvalidInput, UnknownKind
from jobs.handlers.enqueueing import HandlerFunction, enqueuable
from jobs.handlers.kind_options import NAME as KIND_NAME
from jobs.handlers.kind_options import checked_options
from jobs.handlers.reach import ReachOf
from jobs.states import Accelerator

if TYPE_CHECKING:
    from jobs.handlers.context import Context

P = ParamSpec("P")
R = TypeVar("R")

logger = logging.getLogger("jobs.handlers")

Function = Callable[..., Any]
Isolation = Literal["thread", "process"]


@dataclass(frozen=True)
class Phase:
    name: str
    function: Function
    weight: float = 1
    every_attempt: bool = False  # its result is of no use to another attempt


@dataclass
class Kind:
    """One kind of job; options left None take the setting (JOBS_CLAIM_DURATION for the lease)."""

    name: str
    function: Function | None = None
    phases: tuple[Phase, ...] = ()
    queue: str = "default"
    max_attempts: int | None = None
    backoff: str | None = None
    lease: float | None = None
    max_runtime: float | None = None
    stall_timeout: float | None = None  # an attempt that reports no progress for so long is ended
    isolation: Isolation = "thread"  # "process": it runs alone in a child process of its own
    exclusive: bool = False  # it must not run on when its lease cannot be renewed
    accelerator: Accelerator = Accelerator.NONE
    limit_key: str | Callable[[Any], str] = ""  # a function is given the payload
    slots: int = 1  # how many slots of a worker one of them takes
    webhook_url: str | None = None  # "": none, whatever the setting says
    webhook_progress: int | None = None  # at each multiple of so many percent it is told; 0: not at all
    fatal_on: tuple[type[BaseException], ...] = ()
    retry_on: tuple[type[BaseException], ...] = ()
    on_complete: Function | None = None
    on_stale: Function | None = None
    on_delete: Function | None = None
    files: ReachOf | None = None  # which files a remote worker may read and hand over; None: none at all
    spawns: tuple[str, ...] = ()  # kinds of which a remote worker may make jobs for one of this kind

    @property
    def is_isolated(self) -> bool:
        """In a process of its own; what is exclusive, too, so that it can be ended in time without harm to others.

        And what takes several slots: it is claimed only when they are free.
        """
        return self.isolation == "process" or self.exclusive or self.slots > 1

    @property
    def has_completion(self) -> bool:
        """Whether there is more to a completion than its result."""
        return self.on_complete is not None or self.files is not None

    def is_fatal(self, error: BaseException) -> bool:
        if self.retry_on and isinstance(error, self.retry_on):
            return False
        return isinstance(error, self.fatal_on)


class Registry:
    def __init__(self) -> None:
        self._kinds: dict[str, Kind] = {}
        self._modules: Callable[[], list[str]] | None = None
        self._loading = threading.RLock()  # a second thread waits until all kinds are known
        self._all_known = False
        self._broken: dict[str, Exception] = {}

    def discover_with(self, modules: Callable[[], list[str]]) -> None:
        """Say which modules register handlers; they are imported when the first kind is asked for."""
        self._modules, self._all_known = modules, False

    def add(self, kind: Kind) -> None:
        if not KIND_NAME.fullmatch(kind.name):
            raise InvalidInput(
                f"A kind is named with letters, digits, '.', '_' and '-', at most 100 of them, not {kind.name!r}."
            )
        known = self._kinds.get(kind.name)
        if known and known.function is not kind.function:
            raise InvalidInput(f"Two handlers are registered for the kind {kind.name!r}; rename one of them.")
        self._kinds[kind.name] = kind

    def remove(self, name: str) -> None:
        self._kinds.pop(name, None)

    def names_of(self, function: Any) -> list[str]:
        """The kinds that this function is the handler of, as far as they are registered by now."""
        return sorted(kind.name for kind in self._kinds.values() if kind.function is function)

    def find(self, name: str) -> Kind | None:
        self._load()
        return self._kinds.get(name)

    def get(self, name: str) -> Kind:
        kind = self.find(name)
        if kind is None:
            raise UnknownKind(kind=name, hint=self._hint(name))
        return kind

    def __iter__(self) -> Iterator[Kind]:
        self._load()
        return iter(sorted(self._kinds.values(), key=lambda kind: kind.name))

    def broken(self) -> dict[str, str]:
        """The modules that could not be imported, each with the reason."""
        self._load()
        return {module: f"{type(error).__name__}: {error}".rstrip(".") for module, error in self._broken.items()}

    def claimable(self) -> list[str]:
        """What a worker may claim; none: all. What it does not know could be of a module that it could not import."""
        return [kind.name for kind in self] if self.broken() else []

    def _load(self) -> None:
        if self._all_known:
            return
        with self._loading:
            if self._modules is not None:
                modules, self._modules = self._modules(), None
                self._import(modules)
                self._all_known = True

    def _import(self, modules: list[str]) -> None:
        for module in modules:
            try:
                import_module(module)
            except Exception as error:  # one broken app must not stop the kinds of all others
                self._broken[module] = error
                logger.exception("handlers of %s cannot be imported; its kinds are unknown here", module)

    def _hint(self, name: str) -> str:
        close = difflib.get_close_matches(name, self._kinds, n=1)
        if close:
            return f"Did you mean {close[0]!r}?"
        if self._broken:
            broken = "; ".join(f"{module}: {str(error).rstrip('.')}" for module, error in self._broken.items())
            return f"Some handlers could not be imported: {broken}."
        return "Register it with @handler in an installed app's job_handlers.py."


registry = Registry()


def handler(name: str, **options: Any) -> "Callable[[Callable[Concatenate[Context, P], R]], HandlerFunction[P, R]]":
    """Register the function below as the handler of a kind: `@handler("reports.build", queue="slow")`.

    It stays the function it was, and gets `enqueue`, `enqueue_many` and `using`: `build.enqueue(month=5)`.
    """
    if not isinstance(name, str):
        raise InvalidInput('Write @handler("name.of.the.kind") with the name of the kind, not a bare @handler.')
    kind = kind_with(name, options)

    def register(function: "Callable[Concatenate[Context, P], R]") -> HandlerFunction[P, R]:
        kind.function = check_function(name, function)
        registry.add(kind)
        decorated: HandlerFunction[P, R] = enqueuable(name, function)
        return decorated

    return register


def check_function(name: str, function: Function) -> Function:
    """A plain function or `async def`; calling a generator runs nothing, and its job would be completed undone."""
    if not callable(function):
        raise InvalidInput(f"The handler of {name!r} must be a function, not {function!r}.")
    for each in (function, getattr(function, "__call__", None)):  # noqa: B004  an object may have a __call__ that yields
        if inspect.isgeneratorfunction(each) or inspect.isasyncgenfunction(each):
            raise InvalidInput(f"The handler of {name!r} must not yield: calling a generator runs none of it.")
    return function


def kind_with(name: str, options: dict[str, Any]) -> Kind:
    return Kind(name, **checked_options(name, options))
