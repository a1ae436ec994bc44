"""The addresses below /api/events: who may read what, then the stream takes over."""

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_exempt

from jobs.api.admission import admit
from jobs.api.endpoint import not_allowed
from jobs.api.errors import ApiError, as_api_error, invalid
from jobs.api.events.asgi import open_stream
from jobs.api.events.frames import as_json
from jobs.api.events.hub import Full
from jobs.api.events.source import snapshot
from jobs.api.events.wanted import Topic, Wanted, read_wanted
from jobs.api.permissions import VIEW_JOBS, VIEW_WORKERS
from jobs.conf import conf
from jobs.selectors.changes import begin
from jobs.selectors.jobs import get_job
from jobs.setting import FALSE, TRUE

View = Callable[..., HttpResponse]
# A proxy must pass on what it gets at once, and nobody may compress or keep it.
HEADERS = {"Cache-Control": "no-store, no-transform", "X-Accel-Buffering": "no"}


def for_staff(*permissions: str) -> Callable[[View], View]:
    """Staff by session or token, errors as JSON."""

    def guarding(read: View) -> View:
        @never_cache
        @csrf_exempt
        @wraps(read)
        def view(request: HttpRequest, **arguments: Any) -> HttpResponse:
            try:
                if request.method not in ("GET", "HEAD"):
                    raise not_allowed(request, ("GET",))
                admit(request, *permissions, staff=True)
                return read(request, **arguments)
            except Exception as error:
                answer = as_api_error(error)
                if answer is None:
                    raise
                return answer.response()

        return view

    return guarding


@for_staff(*VIEW_JOBS)
def jobs(request: HttpRequest) -> HttpResponse:
    return answer(request, read_wanted(request, Topic.JOBS))


@for_staff(*VIEW_JOBS)
def job(request: HttpRequest, job_id: int) -> HttpResponse:
    wanted = read_wanted(request, Topic.JOBS, job_id)
    get_job(job_id)
    return answer(request, wanted)


@for_staff(*VIEW_WORKERS)
def workers(request: HttpRequest) -> HttpResponse:
    return answer(request, read_wanted(request, Topic.WORKERS))


def answer(request: HttpRequest, wanted: Wanted) -> HttpResponse:
    """The stream; or the snapshot alone, for whoever asks once."""
    if asks_once(request):
        return HttpResponse(as_json(snapshot(wanted, begin().safe)), content_type="application/json")
    head = HttpResponse(content_type="text/event-stream", headers=HEADERS)
    if request.method == "HEAD":
        return head
    try:
        opened = open_stream(request, wanted)
    except Full:
        message = (
            f"{conf.SSE_READERS} streams are open, as many as JOBS_SSE_READERS allows. Ask with ?once=1 meanwhile."
        )
        raise ApiError(503, "too_many_readers", message, {"Retry-After": str(round(conf.SSE_RECONNECT) or 1)}) from None
    if not opened:
        message = "This server holds no streams: serve the site by ASGI (docs/live.md), or ask with ?once=1."
        raise ApiError(501, "no_streams", message)
    return head


def asks_once(request: HttpRequest) -> bool:
    word = request.GET.get("once", "").lower()
    if word not in ("", *TRUE, *FALSE):
        raise invalid("once must be 1 or 0.")
    return word in TRUE or request.headers.get("Accept", "") == "application/json"
