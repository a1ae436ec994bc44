"""Reads what callers send: every field known and of its type, or one sentence that says what is not."""

import json
from collections.abc import Collection, Iterable
from typing import Any, NoReturn

from django.http import HttpRequest

from jobs.api.errors import ApiError, invalid

JSON = "application/json"


def check_type(request: HttpRequest, expected: str) -> None:
    if request.content_type != expected:
        sent = request.content_type or "nothing"
        raise ApiError(415, "unsupported_type", f"The Content-Type must be {expected}, not {sent}.")


def check_known(names: Iterable[str], known: Collection[str], what: str = "field") -> None:
    unknown = sorted(set(names) - set(known))
    if unknown:
        listed = ", ".join(repr(name[:50]) for name in unknown[:5])
        raise invalid(f"Unknown {what} {listed}; known are {', '.join(known) or 'none'}.")


def read_json(request: HttpRequest) -> Any:
    check_type(request, JSON)
    try:
        return json.loads(request.body, parse_constant=refuse_constant)
    except (ValueError, RecursionError):  # also bytes that are no text
        raise ApiError(400, "malformed", "The body is not valid JSON.") from None


def json_object(request: HttpRequest, known: Collection[str]) -> dict[str, Any]:
    data = read_json(request)
    if not isinstance(data, dict):
        raise invalid("The body must be a JSON object.")
    check_known(data, known)
    return data


def refuse_constant(word: str) -> NoReturn:
    raise ValueError(f"{word} is not JSON")


def flag_of(name: str, value: Any) -> bool:
    if not isinstance(value, bool):
        raise invalid(f"{name} must be true or false.")
    return value
