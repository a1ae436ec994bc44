"""Periodic jobs as code declares them: `@periodic("0 3 * * *")` above a handler. No ORM here."""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, fields
from datetime import timedelta
from typing import Any, TypeVar
from zoneinfo import ZoneInfo

from jobs.exceptions import InvalidInput
from jobs.handlers.kind_options import NAME, is_number
from jobs.handlers.pipeline import Pipeline
from jobs.handlers.registry import registry
from jobs.handlers.schedules import EVERY, parse_every, parse_schedule
from jobs.states import CatchUp

T = TypeVar("T")
PRIORITIES = range(-100, 101)


@dataclass(frozen=True)
class Declaration:
    """What a periodic job is to be; an empty queue, time zone or catch-up takes the kind's or the setting's."""

    name: str
    kind: str
    schedule: str
    timezone: str = ""
    payload: Mapping[str, Any] = field(default_factory=dict)
    queue: str = ""
    priority: int = 0
    catch_up: str = ""
    overlap: bool = True
    enabled: bool = True

    def terms(self) -> dict[str, Any]:
        """What may be edited: all but what it is."""
        return {name: value for name, value in asdict(self).items() if name in TERMS}


TERMS = tuple(each.name for each in fields(Declaration) if each.name not in ("name", "kind"))


def checked(given: Declaration) -> Declaration:
    """The same, or InvalidInput: for code, the admin and Python calls alike."""
    checks = {
        "name": (is_name(given.name), "1 to 100 letters, digits, '.', '_' and '-'"),
        "kind": (is_name(given.kind), "1 to 100 letters, digits, '.', '_' and '-'"),
        "queue": (given.queue == "" or is_name(given.queue), "1 to 100 letters, digits, '.', '_' and '-'"),
        "payload": (is_json_object(given.payload), "a JSON object: a dict with text keys and values that JSON has"),
        "priority": (is_priority(given.priority), "a whole number from -100 to 100 (higher goes first)"),
        "catch_up": (given.catch_up in ("", *CatchUp), "one of 'none', 'one', 'all'"),
        "overlap": (isinstance(given.overlap, bool), "True or False"),
        "enabled": (isinstance(given.enabled, bool), "True or False"),
    }
    for option, (is_good, words) in checks.items():
        if not is_good:
            value = getattr(given, option)
            raise InvalidInput(f"The {option} of the periodic job {given.name!r} is {value!r}; it must be {words}.")
    if given.catch_up == CatchUp.ALL and not given.overlap:
        raise InvalidInput(
            f"The periodic job {given.name!r} cannot make up for all ticks it missed and have only one job at a time: "
            "choose catch_up='one', or overlap=True."
        )
    parse_schedule(given.schedule, given.timezone)
    return given


def is_name(value: Any) -> bool:
    return isinstance(value, str) and bool(NAME.fullmatch(value))


def is_priority(value: Any) -> bool:
    return is_number(value) and isinstance(value, int) and value in PRIORITIES


def is_json_object(value: Any) -> bool:
    try:
        return isinstance(value, dict) and bool(json.dumps(value, allow_nan=False))
    except (TypeError, ValueError, RecursionError):
        return False


class Declarations:
    """What the code of this process declares, by name."""

    def __init__(self) -> None:
        self._by_name: dict[str, Declaration] = {}

    def add(self, declaration: Declaration) -> None:
        if self._by_name.setdefault(declaration.name, declaration) != declaration:
            raise InvalidInput(
                f"Two periodic jobs are called {declaration.name!r}; give one of them another name=… of its own."
            )

    def remove(self, name: str) -> None:
        self._by_name.pop(name, None)

    def __iter__(self) -> Iterator[Declaration]:
        list(registry)  # so that all handlers are imported, and with them what is declared beside them
        return iter([self._by_name[name] for name in sorted(self._by_name)])


declarations = Declarations()


def periodic(
    schedule: str | None = None,
    *,
    every: float | timedelta | None = None,
    payload: Mapping[str, Any] | None = None,
    queue: str = "",
    timezone: str | ZoneInfo = "",
    name: str = "",
    catch_up: str = "",
    overlap: bool = True,
    priority: int = 0,
    enabled: bool = True,
) -> Callable[[T], T]:
    """Enqueue the kind of the handler below at certain times: `@periodic("0 3 * * *")` above `@handler(…)`."""
    if callable(schedule):
        raise InvalidInput('Write @periodic("0 3 * * *") with a schedule, not a bare @periodic.')
    text = schedule_text(schedule, every)
    zone = timezone.key or "" if isinstance(timezone, ZoneInfo) else timezone

    def declare(target: T) -> T:
        kind = kind_of(target)
        terms = (text, zone, dict(payload or {}), queue, priority, catch_up, overlap, enabled)
        declarations.add(checked(Declaration(name or kind, kind, *terms)))
        return target

    return declare


def schedule_text(schedule: str | None, every: float | timedelta | None) -> str:
    if (schedule is None) == (every is None):
        raise InvalidInput("A periodic job has a schedule or every=…, one of the two: @periodic('0 3 * * *').")
    if schedule is not None:
        return parse_schedule(schedule).text
    if not is_number(every) and not isinstance(every, timedelta):
        raise InvalidInput(f"every is {every!r}; it must be a number of seconds or a timedelta.")
    return parse_schedule(f"{EVERY}{parse_every(every).total_seconds():f}").text  # type: ignore[arg-type]  # is_number


def kind_of(target: Any) -> str:
    if isinstance(target, Pipeline):
        return target.kind_name
    plain = getattr(target, "__wrapped__", target)
    names = registry.names_of(target) or registry.names_of(plain)
    if not names:
        raise InvalidInput(f"{target!r} is no handler yet: write @periodic above @handler.")
    if len(names) > 1:
        raise InvalidInput(f"{target!r} handles several kinds ({', '.join(names)}): give each a function of its own.")
    return names[0]
