"""Small codecs of which those of whole values are put together. A wrong shape is refused with its place."""

import math
from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields, is_dataclass
from datetime import timedelta
from enum import StrEnum
from typing import Any, Generic, TypeVar
from uuid import UUID

from jobs.exceptions import InvalidInput
from jobs.handlers.base import UNSET
from jobs.sanitise import MAX_INTEGER, measured_json, printable

T = TypeVar("T")
LARGEST = 64 * 2**20  # bytes of one JSON value; the settings of the server allow far less
SHOWN = 60


class WrongShape(InvalidInput):
    """A message is not as it should be."""

    def __init__(self, wanted: str, value: object, where: str = "") -> None:
        self.wanted, self.value, self.where = wanted, value, where
        super().__init__(f"{where.lstrip('.') or 'The message'} must be {wanted}, not {printable(repr(value), SHOWN)}.")

    def inside(self, place: str) -> "WrongShape":
        return WrongShape(self.wanted, self.value, place + self.where)


class Codec(Generic[T]):
    """To JSON and back. What `encode` makes, `decode` makes into the same value again."""

    def __init__(self, encode: Callable[[Any], Any], decode: Callable[[Any], T]) -> None:
        self.encode, self.decode = encode, decode


def as_it_is(value: Any) -> Any:
    return value


def read(wanted: str, is_right: Callable[[Any], bool], into: Callable[[Any], T]) -> Callable[[Any], T]:
    def decode(value: Any) -> T:
        if not is_right(value):
            raise WrongShape(wanted, value)
        try:
            return into(value)
        except (ValueError, OverflowError):
            raise WrongShape(wanted, value) from None

    return decode


def is_text(value: Any) -> bool:
    return isinstance(value, str)


def is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and abs(value) < MAX_INTEGER


def is_number(value: Any) -> bool:
    return is_whole(value) or (isinstance(value, float) and math.isfinite(value))


def is_flag(value: Any) -> bool:
    return isinstance(value, bool)


def said(value: Any) -> Any:
    """What a handler made up, as near as JSON can say it: just as it would be stored."""
    if value is None:
        return None
    cleaned, size = measured_json(value, LARGEST)
    if size > LARGEST:
        raise InvalidInput(f"A value takes more than {LARGEST} bytes as JSON: store it elsewhere and keep its name.")
    return cleaned


def seconds_of(duration: timedelta) -> float:
    return duration.total_seconds()


def number_of(value: Any) -> Any:
    """JSON has no word for infinity: what is no number is refused here, and not by whoever writes the JSON."""
    if isinstance(value, float) and not math.isfinite(value):
        raise WrongShape("a number", value)
    return value


TEXT = Codec(as_it_is, read("text", is_text, str))
WHOLE = Codec(as_it_is, read("a whole number", is_whole, int))
NUMBER = Codec(number_of, read("a number", is_number, float))
FLAG = Codec(as_it_is, read("true or false", is_flag, bool))
IDENTIFIER = Codec(str, read("a UUID", is_text, UUID))
SECONDS = Codec(seconds_of, read("a number of seconds", is_number, lambda value: timedelta(seconds=value)))
STORED: Codec[Any] = Codec(as_it_is, as_it_is)  # JSON already: it comes out of the database
SAID: Codec[Any] = Codec(said, as_it_is)


def optional(codec: Codec[T]) -> Codec[T | None]:
    return Codec(
        lambda value: None if value is None else codec.encode(value),
        lambda value: None if value is None else codec.decode(value),
    )


def one_of(choices: type[StrEnum]) -> Codec[Any]:
    return Codec(str, read(f"one of {', '.join(choices)}", is_text, choices))


def list_of(codec: Codec[T]) -> Codec[tuple[T, ...]]:
    def decode(value: Any) -> tuple[T, ...]:
        if not isinstance(value, list):
            raise WrongShape("a list", value)
        return tuple(at(f"[{place}]", codec, item) for place, item in enumerate(value))

    return Codec(lambda values: [codec.encode(value) for value in values], decode)


def map_of(codec: Codec[T]) -> Codec[dict[str, T]]:
    def decode(value: Any) -> dict[str, T]:
        return {name: at(f"[{name!r}]", codec, item) for name, item in an_object(value).items()}

    return Codec(lambda values: {name: codec.encode(value) for name, value in values.items()}, decode)


def at(place: str, codec: Codec[T], value: Any) -> T:
    try:
        return codec.decode(value)
    except WrongShape as error:
        raise error.inside(place) from None


def an_object(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise WrongShape("an object", value)
    return value


class Record(Codec[T]):
    """The codec of a class with named fields. What has its default is left out; names that are unknown are passed over,
    so that a newer side may say more."""

    def __init__(self, made: Callable[..., T], **parts: Codec[Any]) -> None:
        self.made, self.parts, self.defaults = made, parts, defaults_of(made)
        super().__init__(self.to_json, self.from_json)

    def to_json(self, value: Any) -> dict[str, Any]:
        given = {name: getattr(value, name) for name in self.parts}
        return {
            name: self.parts[name].encode(item)
            for name, item in given.items()
            if not (name in self.defaults and is_same(item, self.defaults[name]))
        }

    def from_json(self, value: Any) -> T:
        given = an_object(value)
        missing = [name for name in self.parts if name not in given and name not in self.defaults]
        if missing:
            raise WrongShape(f"an object with {', '.join(missing)}", value)
        parts = {name: part for name, part in self.parts.items() if name in given}
        return self.made(**{name: at(f".{name}", part, given[name]) for name, part in parts.items()})


def is_same(item: Any, default: Any) -> bool:
    return item is default or (item is not UNSET and type(item) is type(default) and item == default)


def defaults_of(made: Any) -> Mapping[str, Any]:
    if not is_dataclass(made):
        return dict(made._field_defaults)
    plain = {field.name: field.default for field in fields(made) if field.default is not MISSING}
    return plain | {
        field.name: field.default_factory() for field in fields(made) if field.default_factory is not MISSING
    }
