"""One setting: where it is read from, how it is checked, and what is said of one that cannot work."""

import math
import os
from collections.abc import Callable
from datetime import timedelta
from typing import Generic, TypeVar, overload

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

T = TypeVar("T")
PREFIX = "JOBS_"
SHORTEST_SECRET = 16
TRUE, FALSE = ("1", "true", "yes", "on"), ("0", "false", "no", "off")


class Setting(Generic[T]):
    """One setting, read anew at each access so that tests and reloads are seen."""

    name: str

    def __init__(self, default: T, parse: Callable[[object], T], unit: str, meaning: str) -> None:
        self.default, self.parse, self.unit, self.meaning = default, parse, unit, meaning

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    @overload
    def __get__(self, instance: None, owner: type) -> "Setting[T]": ...
    @overload
    def __get__(self, instance: object, owner: type) -> T: ...
    def __get__(self, instance: object | None, owner: type) -> "Setting[T] | T":
        return self if instance is None else self.read()

    def read(self) -> T:
        key = PREFIX + self.name
        raw = getattr(settings, key, None)
        if raw is None:
            raw = os.environ.get(key)
        if raw is None:
            return self.default
        try:
            return self.parse(raw)
        except (TypeError, ValueError, OverflowError) as error:
            raise ImproperlyConfigured(f"{key} is {raw!r}, but it must be {error}.") from error


class EnvironmentSecret(Setting[T]):
    """Read from the environment alone, so that it ends up in no repository; its value is in no message."""

    def read(self) -> T:
        key = PREFIX + self.name
        if hasattr(settings, key):
            raise ImproperlyConfigured(f"{key} is in Django's settings, but it is read from the environment alone.")
        try:
            return self.parse(os.environ.get(key, ""))
        except ValueError as error:
            raise ImproperlyConfigured(f"{key} cannot be used: it must be {error}.") from None


def parse_seconds(raw: object) -> float:
    try:
        seconds = raw.total_seconds() if isinstance(raw, timedelta) else float(str(raw))
    except ValueError:
        seconds = -1.0
    if isinstance(raw, bool) or not math.isfinite(seconds) or seconds < 0:
        raise ValueError("a number of seconds, zero or more")
    return seconds


def parse_count(raw: object) -> int:
    try:
        count = int(str(raw))
    except ValueError:
        count = -1
    if isinstance(raw, bool) or count < 0:
        raise ValueError("a whole number, zero or more")
    return count


def parse_share(raw: object) -> float:
    try:
        share = float(str(raw))
    except ValueError:
        share = -1.0
    if not 0 <= share <= 1:
        raise ValueError("a number from 0 to 1")
    return share


def parse_flag(raw: object) -> bool:
    word = str(raw).lower()
    if word not in TRUE + FALSE:
        raise ValueError("one of " + ", ".join(TRUE + FALSE))
    return word in TRUE


def parse_choice(*choices: str) -> Callable[[object], str]:
    def parse(raw: object) -> str:
        if raw not in choices:
            raise ValueError("one of " + ", ".join(choices))
        return str(raw)

    return parse


def seconds(default: float, meaning: str) -> Setting[float]:
    return Setting(float(default), parse_seconds, "seconds", meaning)


def optional_seconds(meaning: str) -> Setting[float | None]:
    def parse(raw: object) -> float | None:
        return None if raw == "" else parse_seconds(raw)

    return Setting(None, parse, "seconds", meaning)


def count(default: int, unit: str, meaning: str) -> Setting[int]:
    return Setting(default, parse_count, unit, meaning)


def text(default: str, meaning: str) -> Setting[str]:
    return Setting(default, str, "text", meaning)


def parse_secret(raw: object) -> str:
    if raw and len(str(raw)) < SHORTEST_SECRET:
        raise ValueError(f"{SHORTEST_SECRET} characters or more")
    return str(raw)


def flag(default: bool, meaning: str) -> Setting[bool]:
    return Setting(default, parse_flag, "yes or no", meaning)
