"""The reads: videos with their status and job, how far each quality is, and who could work on them."""

from collections.abc import Collection
from datetime import timedelta

from django.db.models.functions import Coalesce

from jobs.conf import conf
from jobs.db import Now
from jobs.models import Dependency, Job, QualityProgress, Worker
from jobs.process_identity import proven_dead, this_process
from jobs.selectors.qualities import Qualities, qualities_of
from jobs.states import ACTIVE
from jobs.videos.exceptions import VideoNotFound
from jobs.videos.models import Video, VideoQuerySet

# Of a job, what no list of videos shows.
LARGE = ("payload", "result", "checkpoint", "last_traceback")


def library() -> VideoQuerySet:
    """Videos with status, error, job and qualities, the newest first. A job that was cleared is None."""
    return (
        Video.objects.with_status()
        .select_related("job")
        .defer(*(f"job__{name}" for name in LARGE))
        .prefetch_related("qualities")
    )


def find_video(slug: str) -> Video:
    """The video with this address; raises VideoNotFound."""
    video = library().filter(slug=slug).first() if "\x00" not in slug else None
    if video is None:
        raise VideoNotFound(video=repr(slug))
    return video


def active_jobs(job_ids: Collection[int]) -> list[Job]:
    """Those of these jobs that wait or run."""
    return list(Job.objects.with_ids(job_ids).filter(status__in=ACTIVE).defer(*LARGE).order_by("pk"))


def parts_of(job_ids: Collection[int]) -> list[Job]:
    """The jobs that these spawned and that have not ended."""
    spawned = Dependency.objects.of(job_ids).spawned().unfinished()
    return active_jobs(list(spawned.values_list("needs_id", flat=True)))


def bars_of(job_ids: Collection[int]) -> Qualities:
    """How far the qualities of these jobs are, the largest picture first: they are begun in any order."""
    return {job_id: sorted(rows, key=height, reverse=True) for job_id, rows in qualities_of(job_ids).items()}


def height(quality: QualityProgress) -> int:
    digits = quality.name.removesuffix("p")
    return int(digits) if digits.isdecimal() else 0


def is_served(queue: str) -> bool:
    """Whether a worker that lives takes jobs from this queue."""
    silence = timedelta(seconds=conf.WORKER_OFFLINE_THRESHOLD)
    heard = (
        Worker.objects.live().alias(seen=Coalesce("last_heartbeat", "registered_at")).filter(seen__gt=Now() - silence)
    )
    here = this_process()
    return any(
        (not worker.queues or queue in worker.queues) and not proven_dead(worker.process, here)
        for worker in heard.filter(drain_requested=False)
    )
