"""What an error looks like to a program: `{"error": {"code": …, "message": …}}`, and which status each one has."""

from typing import Any

from django.core.exceptions import RequestDataTooBig, SuspiciousOperation
from django.http import JsonResponse, UnreadablePostError
from django.http.multipartparser import MultiPartParserError

from jobs.db import is_passing
from jobs.exceptions import InvalidInput, JobLocked, JobyardError, NotFound, TooMuchTold
from jobs.uploads.errors import BeingChecked, StorageFull, TooLarge, TooSlow, WrongContent


class ApiError(Exception):
    """An answer that is an error. The message says what was wrong and what to do; `more` stands beside it."""

    def __init__(
        self, status: int, code: str, message: str, headers: dict[str, str] | None = None, **more: Any
    ) -> None:
        super().__init__(message)
        self.status, self.code, self.message, self.headers, self.more = status, code, message, headers or {}, more

    def response(self) -> JsonResponse:
        body = {"error": {"code": self.code, "message": self.message, **self.more}}
        return JsonResponse(body, status=self.status, headers=self.headers)


# The first that fits; an empty message means the error's own, which is written to be read.
TABLE: tuple[tuple[type[Exception], int, str, str], ...] = (
    (TooMuchTold, 413, "too_large", ""),
    (WrongContent, 422, "wrong_content", ""),
    (InvalidInput, 422, "invalid", ""),
    (NotFound, 404, "not_found", ""),
    (TooLarge, 413, "too_large", ""),
    (TooSlow, 408, "too_slow", ""),
    (StorageFull, 507, "disk_full", ""),
    (JobyardError, 409, "conflict", ""),  # or the code of its own
    (
        RequestDataTooBig,
        413,
        "too_large",
        "The body is larger than this site reads at once (DATA_UPLOAD_MAX_MEMORY_SIZE).",
    ),
    (MultiPartParserError, 400, "malformed", "The body is not a well-formed multipart form."),
    (SuspiciousOperation, 400, "malformed", "The body has too many fields or files."),
    (UnreadablePostError, 400, "malformed", "The body ended before its announced length."),
)


def as_api_error(error: Exception) -> ApiError | None:
    """The answer to an error that is the caller's doing; None for one of ours."""
    if isinstance(error, ApiError):
        return error
    if is_passing(error):
        return ApiError(503, "busy", "The database is busy or away; call again in a moment.", {"Retry-After": "1"})
    if isinstance(error, JobLocked):
        return ApiError(503, error.code, str(error), {"Retry-After": "1"})
    if isinstance(error, BeingChecked):
        return ApiError(503, "busy", str(error), {"Retry-After": "5"})
    for kind, status, code, message in TABLE:
        if isinstance(error, kind):
            return ApiError(status, getattr(error, "code", code), message or str(error))
    return None


def invalid(message: str) -> ApiError:
    return ApiError(422, "invalid", message)


def not_found(message: str = "There is nothing at this address.") -> ApiError:
    return ApiError(404, "not_found", message)
