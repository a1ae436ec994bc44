"""The addresses below /api/videos: what is asked, one call, the answer."""

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.urls import reverse

from jobs.api.bodies import check_known, check_type, flag_of, json_object
from jobs.api.endpoint import Action, endpoint
from jobs.api.errors import invalid
from jobs.conf import conf
from jobs.videos.api import bodies
from jobs.videos.api.documents import document, summary
from jobs.videos.exceptions import VideoNotFound
from jobs.videos.lifecycle.add import add_video
from jobs.videos.lifecycle.remove import remove_video
from jobs.videos.lifecycle.retranscode import retranscode
from jobs.videos.models import Video
from jobs.videos.selectors import library
from jobs.videos.shown.live import live_state

FORM, TOKEN = ("file", "title", "qualities", "strict"), "csrfmiddlewaretoken"
ON_A_PAGE, MOST_ON_A_PAGE = 50, 500
HEADROOM = 1024 * 1024  # what a form is larger than its file
LAST = 2**63 - 1


def list_videos(request: HttpRequest) -> JsonResponse:
    """The newest first; `next` is where the list goes on."""
    check_known(request.GET, ("limit", "before"), "parameter")
    limit, before = number(request, "limit", ON_A_PAGE, MOST_ON_A_PAGE), number(request, "before", LAST, LAST)
    videos = list(library().filter(pk__lt=before).order_by("-pk")[: limit + 1])
    shown, more = videos[:limit], len(videos) > limit
    rest = f"{reverse('videos:api-list')}?limit={limit}&before={shown[-1].pk}" if more else None
    following = request.build_absolute_uri(rest) if rest else None
    return JsonResponse({"videos": [summary(request, video) for video in shown], "next": following})


def number(request: HttpRequest, name: str, default: int, most: int) -> int:
    given = request.GET.get(name)
    if given is None:
        return default
    if not (given.isascii() and given.isdigit() and len(given) < 20 and 1 <= int(given) <= most):
        raise invalid(f"{name} must be a whole number from 1 to {most}.")
    return int(given)


def upload(request: HttpRequest) -> JsonResponse:
    check_type(request, "multipart/form-data")
    check_known(request.POST.keys() - {TOKEN}, FORM)
    added = add_video(
        bodies.form_file(request, "file"),
        title=bodies.form_text(request, "title"),
        qualities=bodies.form_qualities(request),
        strict=bodies.form_flag(request, "strict"),
    )
    video = find(added.video.pk)
    answer = {**summary(request, video), "job": added.job_id, "created": added.created}
    location = {"Location": reverse("videos:api-video", args=[video.pk])}
    return JsonResponse(answer, status=201 if added.created else 200, headers=location)


def show(request: HttpRequest, video_id: int) -> JsonResponse:
    video = find(video_id)
    return JsonResponse(document(request, video, live_state(video, inspect=True)))


def remove(request: HttpRequest, video_id: int) -> HttpResponse:
    remove_video(find(video_id))
    return HttpResponse(status=204)


def transcode_again(request: HttpRequest, video_id: int) -> JsonResponse:
    video = find(video_id)
    wish = json_object(request, ("qualities", "strict"))
    qualities, strict = bodies.qualities_of(wish.get("qualities")), flag_of("strict", wish.get("strict", False))
    ordered = retranscode(video, qualities, strict)
    answer = {**summary(request, find(video_id)), "job": ordered.job_id, "created": ordered.created}
    return JsonResponse(answer, status=202)


def find(video_id: int) -> Video:
    video = library().filter(pk=video_id).first()
    if video is None:
        raise VideoNotFound(video=video_id)
    return video


def largest_upload() -> int:
    return conf.VIDEO_MAX_UPLOAD + HEADROOM if conf.VIDEO_MAX_UPLOAD else 0


VIEW, ADD, CHANGE, DELETE = (f"videos.{verb}_video" for verb in ("view", "add", "change", "delete"))
videos = endpoint(GET=Action(list_videos, VIEW), POST=Action(upload, ADD, largest_upload))
video = endpoint(GET=Action(show, VIEW), DELETE=Action(remove, DELETE))
retranscodes = endpoint(POST=Action(transcode_again, CHANGE))
