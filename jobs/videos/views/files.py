"""The files of a version that is published, or was until just now."""

from django.http import Http404, HttpRequest, HttpResponseBase
from django.views.decorators.http import require_safe

from jobs.handlers.files import job_storage
from jobs.serving.stored_file import find
from jobs.videos.models import Video
from jobs.videos.names import version_folder
from jobs.videos.serving.names import content_type
from jobs.videos.serving.response import respond
from jobs.videos.views.access import for_players


@require_safe
@for_players
def file(request: HttpRequest, slug: str, version: str, path: str) -> HttpResponseBase:
    kind, video_id = content_type(path), served_video(slug, version)
    if kind is None or video_id is None:
        raise Http404("A version has no such file.")
    found = find(job_storage(), f"{version_folder(video_id, version)}/{path}")
    if found is None:
        raise Http404("The file is gone.")
    return respond(request, found, kind)


def served_video(slug: str, version: str) -> int | None:
    """The id of the video that has published this version.

    What an attempt is writing is nobody's business yet; the version before the published one may still be watched.
    """
    row = Video.objects.filter(slug=slug).values_list("pk", "version", "previous_version").first()
    return row[0] if row and version and version in row[1:] else None
