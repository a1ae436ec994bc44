"""One address of the API: a function for each method, who may call it, how large a body may be, and JSON for errors."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_exempt

from jobs.videos.api.authentication import authenticate, check_csrf
from jobs.videos.api.errors import ApiError, as_api_error

SAFE = ("GET", "HEAD")
SMALL = 64 * 1024


@dataclass(frozen=True)
class Action:
    run: Callable[..., HttpResponse]
    permission: str
    largest: Callable[[], int] = lambda: SMALL  # bytes of a body; 0 = any


def endpoint(**actions: Action) -> Callable[..., HttpResponse]:
    """A view. Exempt from the CSRF middleware, which answers with a page: the check is made here instead."""

    @never_cache
    @csrf_exempt
    def view(request: HttpRequest, **arguments: Any) -> HttpResponse:
        try:
            action = chosen(request, actions)
            admit(request, action)
            return action.run(request, **arguments)
        except Exception as error:
            answer = as_api_error(error)
            if answer is None:
                raise
            return answer.response()

    return view


def chosen(request: HttpRequest, actions: dict[str, Action]) -> Action:
    method = "GET" if request.method == "HEAD" else str(request.method)
    if method not in actions:
        allowed = ", ".join(actions)
        raise ApiError(405, "method_not_allowed", f"This address takes {allowed}, not {method}.", {"Allow": allowed})
    return actions[method]


def admit(request: HttpRequest, action: Action) -> None:
    """Raise unless the caller may do it, the cheap questions first."""
    caller = authenticate(request)
    if not caller.user.has_perm(action.permission):
        raise ApiError(403, "forbidden", f"This needs the permission {action.permission}.")
    check_size(request, action.largest())
    if caller.by_cookie and request.method not in SAFE:
        check_csrf(request)


def check_size(request: HttpRequest, largest: int) -> None:
    if "Transfer-Encoding" in request.headers:
        raise ApiError(411, "length_required", "Send the body with a Content-Length, not in chunks.")
    told = str(request.META.get("CONTENT_LENGTH") or 0)
    length = int(told) if told.isdigit() and len(told) < 20 else 0  # as Django reads it: then there is no body
    if largest and length > largest:
        raise ApiError(413, "too_large", f"The body has {length} bytes; at most {largest} are accepted.")
