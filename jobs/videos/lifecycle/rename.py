"""Rename: a video gets another title. Its address stays, for others have it."""

from jobs.db import transactional
from jobs.exceptions import InvalidInput
from jobs.videos.exceptions import VideoNotFound
from jobs.videos.models import Video
from jobs.videos.wanted import check_title


@transactional
def rename(video: Video, title: str) -> None:
    title = check_title(title)
    if not title:
        raise InvalidInput("A video needs a title.")
    if not Video.objects.filter(pk=video.pk).update(title=title):
        raise VideoNotFound(video=video.pk)
