"""Who is calling: each way to say so is one function in WAYS. Tokens will be another."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.middleware.csrf import CsrfViewMiddleware

from jobs.api.errors import ApiError


@dataclass(frozen=True)
class Caller:
    user: Any  # of whatever user model the project has
    by_cookie: bool  # which a browser sends by itself, whatever page made the request: writes need a token, too


def by_session(request: HttpRequest) -> Caller | None:
    return Caller(request.user, by_cookie=True) if request.user.is_authenticated else None


# Each returns the caller if the request says in this way who it is, None if it says nothing, and raises if it lies.
WAYS: tuple[Callable[[HttpRequest], Caller | None], ...] = (by_session,)


def authenticate(request: HttpRequest) -> Caller:
    for way in WAYS:
        if caller := way(request):
            return caller
    raise ApiError(401, "not_authenticated", "Log in first.", {"WWW-Authenticate": 'Session realm="Jobyard"'})


class CsrfCheck(CsrfViewMiddleware):
    """Django's check, which tells the reason where the middleware would answer with a page."""

    def _reject(self, request: HttpRequest, reason: str) -> str:
        return reason


def check_csrf(request: HttpRequest) -> None:
    """Raise unless the token proves that a page of this site made the request. This reads the form."""
    check = CsrfCheck(lambda request: HttpResponse())
    check.process_request(request)
    reason = check.process_view(request, None, (), {})  # type: ignore[arg-type]  # there is no view to look at
    if reason:
        raise ApiError(403, "csrf", f"{reason} Send the value of the cookie csrftoken in the header X-CSRFToken.")
