"""The tables of the app."""

from jobs.videos.models.video import Video, VideoQuerySet
from jobs.videos.models.video_quality import VideoQuality

__all__ = ["Video", "VideoQuality", "VideoQuerySet"]
