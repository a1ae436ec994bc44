"""From what was sent to what the queue knows, and back."""

from typing import Any, TypeVar

from django.conf import settings
from django.http import HttpRequest, HttpResponse

from jobs.api.bodies import JSON
from jobs.exceptions import InvalidInput
from jobs.wire.body import to_bytes
from jobs.wire.shapes import Codec

T = TypeVar("T")


def largest() -> int:
    """Bytes of a body: as much as Django reads at once."""
    return settings.DATA_UPLOAD_MAX_MEMORY_SIZE or 0


def raw(request: HttpRequest) -> dict[str, Any]:
    """The body as it came: what ninja makes of it is for the document, and for its errors."""
    body = request.told  # type: ignore[attr-defined]  # kept by our parser
    if not isinstance(body, dict):  # which ninja takes for an object without fields
        raise InvalidInput("The body must be a JSON object.")
    return body


def told(request: HttpRequest, codec: Codec[T], **instead: Any) -> T:
    return codec.decode({**raw(request), **instead})


def told_with(request: HttpRequest, codec: Codec[T], **unless_told: Any) -> T:
    return codec.decode({**unless_told, **raw(request)})


def answer(document: object) -> HttpResponse:
    """Not through ninja's schema: a claim may bring a thousand jobs."""
    return HttpResponse(to_bytes(document), content_type=JSON)
