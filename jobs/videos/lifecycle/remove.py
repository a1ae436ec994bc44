"""Remove: a video goes with its rows, its job and its files; nothing else's."""

import logging
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial

from django.db import transaction

from jobs.db import transactional
from jobs.handlers.files import job_storage
from jobs.lifecycle.cancel import CancelResult, cancel
from jobs.models import Job, JobQuerySet
from jobs.models.job import KEEPS_KEY
from jobs.selectors.clock import database_now
from jobs.videos.lifecycle.collect import collect_now
from jobs.videos.lifecycle.locked_video import lock_with_job
from jobs.videos.lifecycle.orders import key_of, order_collect
from jobs.videos.models import Video
from jobs.videos.names import source_folder
from jobs.videos.stored import remove_file, remove_if_empty

logger = logging.getLogger("jobs.videos")
SECOND_LOOK = timedelta(minutes=5)  # by then an attempt that was running has noticed


@dataclass(frozen=True)
class Removed:
    """What was removed, and what became of its job: cancelled at once, or asked to stop."""

    video_id: int
    slug: str
    jobs: CancelResult = field(default_factory=CancelResult)


@transactional
def remove_video(video: Video) -> Removed:
    """Delete the rows and cancel the job, in one transaction; the files go once it is committed.

    A job that waits is never claimed after this; one that runs is asked to stop and has nothing left to publish.
    """
    video, _ = lock_with_job(video.pk)
    cancelled = cancel(active_jobs(video), reason=f"video {video.pk} was removed")
    removed = Removed(video.pk, video.slug, cancelled)
    source = video.source
    video.delete()
    # It finds what this process does not live to remove, and what a running attempt still writes.
    order_collect(removed.video_id, database_now() + SECOND_LOOK)
    transaction.on_commit(partial(remove_files, removed.video_id, source), robust=True)
    logger.info("removed video=%d slug=%s", removed.video_id, removed.slug)
    return removed


def active_jobs(video: Video) -> JobQuerySet:
    """Its own, or an older one that somebody retried, in whichever queue: they have the same key."""
    return Job.objects.filter(KEEPS_KEY, dedupe_key=key_of(video.pk))


def remove_files(video_id: int, source: str) -> None:
    storage = job_storage()
    if source.startswith(f"{source_folder(video_id)}/"):  # nothing but its own, whatever the row said
        remove_file(storage, source)
        remove_if_empty(storage, source_folder(video_id))
    collect_now(video_id)
