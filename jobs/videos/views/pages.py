"""The list of videos, the page of one, and the facts its bars are drawn from."""

from typing import Any

from django.core.paginator import Page, Paginator
from django.http import HttpRequest, HttpResponse, HttpResponseBase, JsonResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from jobs.exceptions import JobyardError
from jobs.videos.lifecycle.retranscode import retranscode
from jobs.videos.models import Video
from jobs.videos.selectors import library
from jobs.videos.shown.live import Live, live_state
from jobs.videos.views.access import for_players, for_watchers, may, may_change, may_inspect

ON_A_PAGE = 24


@require_safe
@never_cache
@for_watchers
def video_list(request: HttpRequest) -> HttpResponse:
    videos = library()
    if not may_inspect(request):
        videos = videos.exclude(version="")
    page: Page[Video] = Paginator(videos, ON_A_PAGE).get_page(request.GET.get("page"))
    return render(request, "videos/list.html", {"page": page, "may_add": may(request, "add")})


@require_safe
@never_cache
@for_watchers
def video_page(request: HttpRequest, slug: str) -> HttpResponse:
    return show(request, get_object_or_404(library(), slug=slug))


@require_safe
@never_cache
@for_players
def progress(request: HttpRequest, slug: str) -> HttpResponse:
    video = get_object_or_404(Video.objects.with_status(), slug=slug)
    return JsonResponse(live_state(video, inspect=may_inspect(request)).as_json())


@require_POST
@for_watchers
def transcode_again(request: HttpRequest, slug: str) -> HttpResponseBase:
    """The qualities that are named; none named means all."""
    if not may_change(request):
        return HttpResponse("You may not change videos.", status=403, content_type="text/plain")
    video = get_object_or_404(library(), slug=slug)
    try:
        retranscode(video, request.POST.getlist("quality") or None)
    except JobyardError as error:
        return show(request, video, problem=str(error), status=409)
    return redirect("videos:page", slug=slug)


def show(request: HttpRequest, video: Video, *, problem: str = "", status: int = 200) -> HttpResponse:
    inspect = may_inspect(request)
    live = live_state(video, inspect=inspect)
    context: dict[str, Any] = {
        "video": video,
        "qualities": list(video.qualities.all()),
        "live": live,
        "failed": failed_qualities(video, live) if inspect else {},
        "inspect": inspect,
        "may_change": may_change(request),
        "problem": problem,
    }
    return render(request, "videos/page.html", context, status=status)


def failed_qualities(video: Video, live: Live) -> dict[str, str]:
    """What the published version lacks; before the first, what failed of it, once no bar tells it any more."""
    if video.version:
        return video.failed_qualities
    return {} if live.again else {bar.name: bar.error for bar in live.failed}
