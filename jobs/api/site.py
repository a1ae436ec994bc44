"""The API that django-ninja serves: it checks what is sent, documents itself, and tells errors as all our APIs do."""

from collections.abc import Callable
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse, HttpResponseNotAllowed
from django.http.response import HttpResponseBase
from django.urls import URLResolver
from django.urls.resolvers import RegexPattern
from django.views.decorators.cache import never_cache
from ninja import NinjaAPI
from ninja.errors import HttpError, ValidationError
from ninja.operation import Operation
from ninja.parser import Parser

from jobs import __version__
from jobs.api import queue, worker
from jobs.api.bodies import read_json
from jobs.api.bounds import MOST_FIELDS
from jobs.api.endpoint import not_allowed
from jobs.api.errors import as_api_error, invalid, not_found
from jobs.api.validation import refusal
from jobs.lock_waits import lock_waits_limited


class JsonParser(Parser):
    def parse_body(self, request: HttpRequest) -> Any:
        told = read_json(request)
        if isinstance(told, dict) and len(told) > MOST_FIELDS:  # pydantic would tell of every one that is unknown
            raise invalid(f"The body has {len(told)} fields; no call takes more than {MOST_FIELDS}.")
        request.told = told  # type: ignore[attr-defined]  # as it came, for jobs.wire to read
        return told


class JobyardApi(NinjaAPI):
    def get_openapi_operation_id(self, operation: Operation) -> str:
        return operation.view_func.__name__  # what programs that are made from the document call it


api = JobyardApi(
    title="Jobyard",
    version=__version__,
    description="The queue over HTTP, for programs and for remote workers. Errors are "
    '`{"error": {"code", "message"}}`: the code is for programs, the message says what was wrong and what to do.',
    docs_url=None,  # ours needs no other site: jobs.api.docs_page
    openapi_url=None,
    urls_namespace="jobyard",
    parser=JsonParser(),
)
for name, routers in (("queue", queue.routers), ("worker", worker.routers)):
    for router in routers:
        api.add_router(f"/{name}", router)


@api.exception_handler(ValidationError)
def wrong_shape(request: HttpRequest, error: ValidationError) -> HttpResponse:
    return refusal(error.errors).response()


@api.exception_handler(Exception)
def told(request: HttpRequest, error: Exception) -> HttpResponse:
    """Errors of the caller as JSON; ours go on, and become what the project makes of them."""
    cause = error.__cause__ if isinstance(error, HttpError) else error  # ninja hides what its parser raises
    answer = as_api_error(cause) if isinstance(cause, Exception) else None
    if answer is None:
        raise error
    return answer.response()


api.exception_handler(HttpError)(told)
inside = URLResolver(RegexPattern(r"^"), list(api.urls[0]))


@never_cache
def answer(request: HttpRequest, rest: str) -> HttpResponseBase:
    """The answer of the operation at this address."""
    try:
        match = inside.resolve(rest)
    except Http404:
        return not_found().response()
    response = with_head(request, match.func, match.kwargs)
    if isinstance(response, HttpResponseNotAllowed):
        return not_allowed(request, sorted(response["Allow"].split(", "))).response()
    return response


def answer_worker(request: HttpRequest, rest: str) -> HttpResponseBase:
    """The same for a remote worker. It tries again by itself, so nothing of it waits for a row lock without end."""
    with lock_waits_limited():
        return answer(request, rest)


def with_head(
    request: HttpRequest, view: Callable[..., HttpResponseBase], arguments: dict[str, Any]
) -> HttpResponseBase:
    """HEAD is GET; Django, or the server, leaves the body out."""
    if request.method != "HEAD":
        return view(request, **arguments)
    request.method = "GET"
    try:
        return view(request, **arguments)
    finally:
        request.method = "HEAD"
