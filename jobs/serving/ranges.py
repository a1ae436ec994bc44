"""Reads the Range header: pure."""

import re
from dataclasses import dataclass

ONE_RANGE = re.compile(r"(?P<first>[0-9]{0,40})-(?P<last>[0-9]{0,40})")


@dataclass(frozen=True)
class Part:
    """Bytes of a file: so many, from here on."""

    start: int
    length: int


class NotSatisfiable(Exception):
    """The file has no such part."""


def whole(size: int) -> Part:
    return Part(0, size)


def wanted_part(header: str, size: int) -> Part | None:
    """The one part that is asked for; None = the whole file, which also answers several ranges and other units."""
    unit, _, ranges = header.partition("=")
    if unit.strip().lower() != "bytes" or "," in ranges:
        return None
    match = ONE_RANGE.fullmatch(ranges.strip())
    if not match or ranges.strip() == "-":
        raise NotSatisfiable
    first, last = match["first"], match["last"]
    if not first:
        return last_bytes(int(last), size)
    return between(int(first), int(last) if last else size - 1, size)


def last_bytes(count: int, size: int) -> Part:
    length = min(count, size)
    if not length:
        raise NotSatisfiable
    return Part(size - length, length)


def between(first: int, last: int, size: int) -> Part:
    if first >= size or last < first:
        raise NotSatisfiable
    return Part(first, min(last, size - 1) - first + 1)
