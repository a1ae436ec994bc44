"""Which payloads both databases can store; the first thing that is wrong is named, with its place."""

import json
import math
from collections.abc import Iterator
from typing import Any

from jobs.conf import conf
from jobs.exceptions import InvalidInput
from jobs.sanitise import MAX_DEPTH, MAX_INTEGER, Budget

ENCODER = json.JSONEncoder(ensure_ascii=False)


def check_payload(payload: Any, limit: int | None = None) -> str:
    """The payload as JSON; who has many to check reads the limit of its size once."""
    if not isinstance(payload, dict):
        raise InvalidInput(f"The payload must be a JSON object (a dict with text keys), not {type(payload).__name__}.")
    return check_storable(payload, "payload", "MAX_PAYLOAD", limit) if payload else "{}"


def check_storable(value: Any, what: str, setting: str, known_limit: int | None = None) -> str:
    """The value as JSON. Refused if both databases would not give it back as it is, or by the setting's limit."""
    limit: int = getattr(conf, setting) if known_limit is None else known_limit
    if (plain := plainly_storable(value)) is not None and len(plain) <= limit:
        return plain.decode()
    if problem := next(problems_of(value, what, 0, Budget(limit)), None):
        raise InvalidInput(problem)
    text = json.dumps(value, ensure_ascii=False)
    size = len(text.encode())
    if size > limit:
        raise InvalidInput(
            f"The {what} takes {size} bytes as JSON; JOBS_{setting} allows {limit}. "
            "Store the data elsewhere and pass its name."
        )
    return text


def plainly_storable(value: Any) -> bytes | None:
    """A dictionary of a few plain values as JSON, as most payloads are; None where it takes a closer look to tell."""
    if type(value) is not dict or not all(map(is_plain, value, value.values())):
        return None
    text = ENCODER.encode(value)
    try:
        return None if "\\u0000" in text else text.encode()
    except UnicodeEncodeError:
        return None


def is_plain(key: Any, value: Any) -> bool:
    kind = type(value)
    if kind is int:
        return type(key) is str and -MAX_INTEGER < value < MAX_INTEGER
    return type(key) is str and (kind is str or kind is bool or value is None)


def problems_of(value: Any, where: str, depth: int, budget: Budget) -> Iterator[str]:
    if depth > MAX_DEPTH:
        yield f"The {root_of(where)} is nested more than {MAX_DEPTH} levels deep."
    elif not budget.spend():
        yield f"The {root_of(where)} has more values than its limit of {budget.values} bytes has room for."
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from problems_of_key(key, where)
            yield from problems_of(item, f"{where}[{key!r}]", depth + 1, budget)
    elif isinstance(value, (list, tuple)):
        for index, item in enumerate(value):
            yield from problems_of(item, f"{where}[{index}]", depth + 1, budget)
    elif problem := problem_of_scalar(value):
        yield f"{where} {problem}"


def root_of(where: str) -> str:
    return where.partition("[")[0]


def problems_of_key(key: Any, where: str) -> Iterator[str]:
    if not isinstance(key, str):
        yield f"{where} has the key {key!r}, but keys must be text."
    elif problem := unstorable(key):
        yield f"A key of {where} contains {problem}, which a database cannot store."


def problem_of_scalar(value: Any) -> str:
    if value is None or isinstance(value, bool):
        return ""
    if isinstance(value, str):
        problem = unstorable(value)
        return f"contains {problem}, which a database cannot store." if problem else ""
    if isinstance(value, int):
        return "is an integer of more than 64 bits; pass it as text." if abs(value) >= MAX_INTEGER else ""
    if isinstance(value, float):
        return "" if math.isfinite(value) else f"is {value}, which JSON does not have."
    return f"is of the type {type(value).__name__}, which JSON does not have."


def unstorable(text: str) -> str:
    if "\x00" in text:
        return "a NUL character"
    try:
        text.encode()
    except UnicodeEncodeError:
        return "a lone surrogate (text that is not valid Unicode)"
    return ""
