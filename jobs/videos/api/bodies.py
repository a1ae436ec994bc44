"""Reads what callers send: forms and JSON, every field known and of its type, or one sentence that says what is not."""

import json
from collections.abc import Collection, Iterable
from typing import Any, NoReturn

from django.core.files.uploadedfile import UploadedFile
from django.http import HttpRequest

from jobs.conf import FALSE, TRUE
from jobs.videos.api.errors import ApiError, invalid


def check_type(request: HttpRequest, expected: str) -> None:
    if request.content_type != expected:
        sent = request.content_type or "nothing"
        raise ApiError(415, "unsupported_type", f"The Content-Type must be {expected}, not {sent}.")


def check_known(names: Iterable[str], known: Collection[str], what: str = "field") -> None:
    unknown = sorted(set(names) - set(known))
    if unknown:
        listed = ", ".join(repr(name[:50]) for name in unknown[:5])
        raise invalid(f"Unknown {what} {listed}; known are {', '.join(known) or 'none'}.")


def json_object(request: HttpRequest, known: Collection[str]) -> dict[str, Any]:
    check_type(request, "application/json")
    try:
        data = json.loads(request.body, parse_constant=refuse_constant)
    except (ValueError, RecursionError):  # also bytes that are no text
        raise ApiError(400, "malformed", "The body is not valid JSON.") from None
    if not isinstance(data, dict):
        raise invalid("The body must be a JSON object.")
    check_known(data, known)
    return data


def refuse_constant(word: str) -> NoReturn:
    raise ValueError(f"{word} is not JSON")


def qualities_of(value: Any) -> list[str] | None:
    """Names, which are checked where they are used; null means all."""
    if value is not None and not isinstance(value, list):
        raise invalid("qualities must be a list of names, or null for all.")
    return value


def flag_of(name: str, value: Any) -> bool:
    if not isinstance(value, bool):
        raise invalid(f"{name} must be true or false.")
    return value


def form_text(request: HttpRequest, name: str) -> str:
    values = request.POST.getlist(name)
    if len(values) > 1:
        raise invalid(f"{name} is given {len(values)} times.")
    return values[0] if values else ""


def form_flag(request: HttpRequest, name: str) -> bool:
    word = form_text(request, name).lower()
    if word not in ("", *TRUE, *FALSE):
        raise invalid(f"{name} must be true or false.")
    return word in TRUE


def form_qualities(request: HttpRequest) -> list[str] | None:
    """`qualities=1080p,720p`, or the field several times."""
    names = [name.strip() for value in request.POST.getlist("qualities") for name in value.split(",")]
    return [name for name in names if name] or None


def form_file(request: HttpRequest, name: str) -> UploadedFile:
    check_known(request.FILES, (name,), "file field")
    files = request.FILES.getlist(name)
    if len(files) != 1:
        raise invalid(f"Send one file in the field {name!r}; there are {len(files) or 'none'}.")
    if not files[0].size:
        raise invalid("The file is empty.")
    return files[0]
