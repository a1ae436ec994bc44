"""Reads what callers send of videos: each field of its type, or one sentence that says what is not."""

from typing import Any

from django.core.files.uploadedfile import UploadedFile
from django.http import HttpRequest

from jobs.api.bodies import check_known
from jobs.api.errors import invalid
from jobs.setting import FALSE, TRUE


def qualities_of(value: Any) -> list[str] | None:
    """Names, which are checked where they are used; null means all."""
    if value is not None and not isinstance(value, list):
        raise invalid("qualities must be a list of names, or null for all.")
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
