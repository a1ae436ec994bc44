"""One address of the API: a function for each method, who may call it, how large a body may be, and JSON for errors."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_exempt

from jobs.api.admission import admit, small
from jobs.api.errors import ApiError, as_api_error, not_found


@dataclass(frozen=True)
class Action:
    run: Callable[..., HttpResponse]
    permission: str
    largest: Callable[[], int] = small  # bytes of a body; 0 = any


def endpoint(**actions: Action) -> Callable[..., HttpResponse]:
    """A view. Exempt from the CSRF middleware, which answers with a page: the check is made here instead."""

    @never_cache
    @csrf_exempt
    def view(request: HttpRequest, **arguments: Any) -> HttpResponse:
        try:
            action = chosen(request, actions)
            admit(request, action.permission, largest=action.largest)
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
        raise not_allowed(request, actions)
    return actions[method]


def not_allowed(request: HttpRequest, methods: Iterable[str]) -> ApiError:
    allowed = ", ".join(methods)
    message = f"This address takes {allowed}, not {request.method}."
    return ApiError(405, "method_not_allowed", message, {"Allow": allowed})


@csrf_exempt
def elsewhere(request: HttpRequest) -> JsonResponse:
    """Whoever missed the address reads JSON, too."""
    return not_found().response()
