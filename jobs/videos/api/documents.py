"""A video as JSON."""

from typing import Any

from django.http import HttpRequest
from django.urls import reverse

from jobs.videos.models import Video
from jobs.videos.shown.live import Live
from jobs.videos.transcoding.manifest import MASTER, THUMBNAIL

QUALITY = ("name", "width", "height", "bitrate", "codec", "encoder", "size")


def summary(request: HttpRequest, video: Video) -> dict[str, Any]:
    """What a list shows; the video has its status."""
    return {
        "id": video.pk,
        "slug": video.slug,
        "title": video.title,
        "status": video.status,  # type: ignore[attr-defined]  # annotated by with_status()
        "error": video.error or None,  # type: ignore[attr-defined]
        "job": video.job_id,
        "duration": video.duration,
        "size": video.size,
        "created_at": video.created_at.isoformat(),
        "published_at": video.published_at.isoformat() if video.published_at else None,
        "url": request.build_absolute_uri(reverse("videos:page", args=[video.slug])),
        "playlist": file_address(request, video, MASTER),
        "thumbnail": file_address(request, video, THUMBNAIL),
    }


def document(request: HttpRequest, video: Video, live: Live) -> dict[str, Any]:
    """All there is to know."""
    return {
        **summary(request, video),
        "version": video.version or None,
        "source": {"name": video.source_name, "size": video.source_size},
        "qualities": [{name: getattr(quality, name) for name in QUALITY} for quality in video.qualities.all()],
        "failed": video.failed_qualities,
        "progress": {"percent": live.percent, "text": live.text} if live.again else None,
        "job_qualities": [
            {"name": bar.name, "status": bar.status, "percent": bar.percent, "error": bar.error or None}
            for bar in live.bars
        ],
    }


def file_address(request: HttpRequest, video: Video, name: str) -> str | None:
    if not video.version:
        return None
    return request.build_absolute_uri(reverse("videos:file", args=[video.slug, video.version, name]))
