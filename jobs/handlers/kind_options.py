"""The options of a kind, checked where they are written: one clear sentence for each that cannot work."""

import re
from collections.abc import Callable, Mapping
from typing import Any

from jobs.exceptions import InvalidInput
from jobs.states import Accelerator
from jobs.web_address import problem_with

NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.\-]{0,99}")
BACKOFF = re.compile(r"(fixed|linear|exponential)(:\d+(\.\d*)?){0,2}|")
ISOLATIONS = ("thread", "process")
LONGEST_LEASE = 7 * 86_400
LONGEST_RUNTIME = 10**9
MOST_ATTEMPTS = 1000
MOST_SLOTS = 1000


def is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def is_lease(value: Any) -> bool:
    return value is None or (is_number(value) and 1 <= value <= LONGEST_LEASE)


def is_duration(value: Any) -> bool:
    return value is None or (is_number(value) and 0 < value <= LONGEST_RUNTIME)


def is_attempts(value: Any) -> bool:
    return value is None or (is_number(value) and isinstance(value, int) and 1 <= value <= MOST_ATTEMPTS)


def is_text(pattern: re.Pattern[str]) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, str) and bool(pattern.fullmatch(value))


def is_one_of(*choices: str) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, str) and value in choices


def is_web_address(value: Any) -> bool:
    return value is None or (isinstance(value, str) and not (value and problem_with(value)))


def is_step(value: Any) -> bool:
    return value is None or (isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= 100)


def is_errors(value: Any) -> bool:
    return isinstance(value, tuple) and all(
        isinstance(each, type) and issubclass(each, BaseException) for each in value
    )


def is_short_text(value: Any) -> bool:
    return isinstance(value, str) and len(value) <= 200


def is_slots(value: Any) -> bool:
    return is_number(value) and isinstance(value, int) and 1 <= value <= MOST_SLOTS


def is_kinds(value: Any) -> bool:
    return isinstance(value, tuple) and all(map(is_text(NAME), value))


def is_hook(value: Any) -> bool:
    return value is None or callable(value)


SINGLE: Mapping[str, type[object]] = {"fatal_on": type, "retry_on": type, "spawns": str}  # may stand alone
DURATION = f"a number of seconds above zero, at most {LONGEST_RUNTIME}"
ERRORS = "an exception class or a tuple of them"
HOOK = "a function"

CHECKS: Mapping[str, tuple[Callable[[Any], bool], str]] = {
    "queue": (is_text(NAME), "1 to 100 letters, digits, '.', '_' and '-'"),
    "max_attempts": (is_attempts, f"a whole number from 1 to {MOST_ATTEMPTS}"),
    "backoff": (
        lambda value: value is None or is_text(BACKOFF)(value),
        "fixed, linear or exponential with the first and the longest wait, as in 'exponential:10:3600'",
    ),
    "lease": (is_lease, f"1 to {LONGEST_LEASE} seconds"),
    "max_runtime": (is_duration, DURATION),
    "stall_timeout": (is_duration, DURATION),
    "accelerator": (is_one_of(*Accelerator), "one of " + ", ".join(repr(str(each)) for each in Accelerator)),
    "isolation": (is_one_of(*ISOLATIONS), "'thread' or 'process'"),
    "exclusive": (lambda value: isinstance(value, bool), "True or False"),
    "limit_key": (
        lambda value: callable(value) or is_short_text(value),
        "text of at most 200 characters, or a function",
    ),
    "slots": (is_slots, f"a whole number from 1 to {MOST_SLOTS}"),
    "webhook_url": (is_web_address, "None, '', or an address that begins with http:// or https:// and names a host"),
    "webhook_progress": (is_step, "None or a whole number of percent from 0 (none) to 100"),
    "fatal_on": (is_errors, ERRORS),
    "retry_on": (is_errors, ERRORS),
    "on_complete": (is_hook, HOOK),
    "on_stale": (is_hook, HOOK),
    "on_delete": (is_hook, HOOK),
    "files": (is_hook, HOOK),
    "spawns": (is_kinds, "the name of a kind, or a tuple of them"),
}


def checked_options(name: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """The options of the kind `name`; raises InvalidInput for one that does not exist or cannot work."""
    good = {}
    for option, value in options.items():
        if option not in CHECKS:
            raise InvalidInput(f"The kind {name!r} has no option {option!r}; choose from {', '.join(CHECKS)}.")
        is_good, words = CHECKS[option]
        good[option] = (value,) if isinstance(value, SINGLE.get(option, ())) else value
        if not is_good(good[option]):
            raise InvalidInput(f"The {option} of {name!r} is {value!r}; it must be {words}.")
    return good
