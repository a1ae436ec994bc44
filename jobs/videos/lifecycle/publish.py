"""Publish: a finished version becomes the one that is watched, in the transaction that completes its job."""

import logging
from datetime import timedelta
from typing import Any

from jobs.conf import conf
from jobs.db import Now
from jobs.models import Job
from jobs.selectors.clock import database_now
from jobs.states import ACTIVE, Status
from jobs.videos.lifecycle.locked_video import lock_video
from jobs.videos.lifecycle.made import Made
from jobs.videos.lifecycle.orders import order_collect
from jobs.videos.models import Video, VideoQuality

logger = logging.getLogger("jobs.videos")
A_MOMENT = timedelta(seconds=1)  # what a rounded time may be off


def publish(job: Job, result: Any) -> None:
    """The kind's `on_complete`: it switches the version, or leaves everything as it is and says why."""
    made = Made.read(job, result)
    video = lock_video(made.video_id)
    refusal = why_not(video, job)
    if video is None or refusal:
        logger.warning("not published video=%s job=%d why=%r", made.video_id, job.pk, refusal)
        order_collect(made.video_id)
        return
    Video.objects.filter(pk=video.pk).update(
        job_id=job.pk,
        version=made.version,
        previous_version=video.version,
        duration=made.duration,
        size=made.size,
        failed_qualities=still_failed(video, job, made),
        published_at=Now(),
    )
    replace_qualities(video, made)
    if job.dependencies.exists():  # its parts lie there still, and are joined now
        order_collect(video.pk)
    order_collect(video.pk, database_now() + timedelta(seconds=conf.VIDEO_KEEP_OLD) + A_MOMENT)
    logger.info("published video=%d version=%s job=%d", video.pk, made.version, job.pk)


def why_not(video: Video | None, job: Job) -> str:
    """A newer job goes before this one, unless it ended with nothing to show: then a retried older one may help."""
    if video is None:
        return "the video was removed"
    if video.job_id == job.pk:
        return ""
    newer = video.own_job().filter(status__in=(*ACTIVE, Status.COMPLETED)).first()
    return f"job {newer.pk}, {newer.status}, took its place" if newer else ""


def still_failed(video: Video, job: Job, made: Made) -> dict[str, str]:
    """What failed now, and what failed before and was not tried again."""
    tried = job.payload.get("qualities")
    before = {} if tried is None else {name: why for name, why in video.failed_qualities.items() if name not in tried}
    return {name: why for name, why in (before | made.failed).items() if name not in made.names}


def replace_qualities(video: Video, made: Made) -> None:
    VideoQuality.objects.filter(video=video).delete()
    VideoQuality.objects.bulk_create(VideoQuality(video=video, **quality) for quality in made.qualities)
