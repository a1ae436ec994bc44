"""Who is calling: each way to say so is one function in WAYS."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.middleware.csrf import CsrfViewMiddleware

from jobs.api.errors import ApiError
from jobs.lifecycle.api_tokens import note_use
from jobs.selectors.api_tokens import token_of

BEARER = 'Bearer realm="Jobyard"'


@dataclass(frozen=True)
class Caller:
    user: Any  # of whatever user model the project has
    by_cookie: bool  # which a browser sends by itself, whatever page made the request: writes need a token, too

    @property
    def words(self) -> str:
        """For the history of a job or a queue."""
        return f"by {self.user}"


def by_token(request: HttpRequest) -> Caller | None:
    """`Authorization: Bearer …`. Other schemes are for others, a proxy with a password of its own for one."""
    scheme, _, text = request.headers.get("Authorization", "").partition(" ")
    if scheme.lower() != "bearer":
        return None
    token: Any = token_of(text.strip())
    if token is None:
        raise refused("token_unknown", "There is no such token; manage.py make_api_token makes one.")
    if token.problem:
        raise refused(
            f"token_{token.problem}", f"This token is {token.problem}; manage.py make_api_token makes another."
        )
    if not token.user.is_active:
        raise refused("user_inactive", f"The user {token.user}, whose token this is, is not active.")
    if not token.noted:
        note_use(token)
    return Caller(token.user, by_cookie=False)


def refused(code: str, message: str) -> ApiError:
    return ApiError(401, code, message, {"WWW-Authenticate": f'{BEARER}, error="invalid_token"'})


def by_session(request: HttpRequest) -> Caller | None:
    return Caller(request.user, by_cookie=True) if request.user.is_authenticated else None


# Each returns the caller if the request says in this way who it is, None if it says nothing, and raises if it lies.
# Whoever takes the trouble to send a token means it, whatever cookies come along.
WAYS: tuple[Callable[[HttpRequest], Caller | None], ...] = (by_token, by_session)


def authenticate(request: HttpRequest) -> Caller:
    for way in WAYS:
        if caller := way(request):
            return caller
    raise ApiError(
        401,
        "not_authenticated",
        "Log in, or send a token in the header Authorization: Bearer.",
        {
            "WWW-Authenticate": BEARER,
        },
    )


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
