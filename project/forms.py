"""Forms of strangers: short ones, such as the log-in. Nothing longer is read for somebody who is not logged in."""

from collections.abc import Callable
from typing import Any

from django.http import HttpRequest, HttpResponse, HttpResponseBase

from project.pace import SMALL


class SmallForStrangers:
    """The middleware, before the one that reads forms for their CSRF token. The APIs ask who calls before they read."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        return self.get_response(request)

    def process_view(self, request: HttpRequest, view: Any, args: Any, kwargs: Any) -> HttpResponse | None:
        told = str(request.META.get("CONTENT_LENGTH") or "0")
        if not told.isdecimal() or int(told) <= SMALL or getattr(view, "csrf_exempt", False):
            return None
        if request.user.is_authenticated:
            return None
        return HttpResponse("Log in first: this is too long for a stranger.", status=413, content_type="text/plain")
