"""Locks a video together with its job, always the job first: `finish`, which publishes, has it before it gets here."""

from jobs.exceptions import JobyardError
from jobs.lifecycle import transition
from jobs.models import Job
from jobs.videos.exceptions import VideoNotFound
from jobs.videos.models import Video

TRIES = 5


class JobsChanging(JobyardError):
    """The video {video} got one new job after another; try again."""


def lock_with_job(video_id: int) -> tuple[Video, Job | None]:
    """The video and the job it points to, if that still exists; nobody changes either until the transaction ends."""
    for _ in range(TRIES):
        seen = Video.objects.filter(pk=video_id).first()
        jobs = transition.lock(seen.own_job()) if seen else []
        video = lock_video(video_id)
        if seen is None or video is None:
            raise VideoNotFound(video=video_id)
        if video.job_id == seen.job_id:
            return video, jobs[0] if jobs else None
    raise JobsChanging(video=video_id)


def lock_video(video_id: int) -> Video | None:
    return Video.objects.select_for_update(no_key=True).filter(pk=video_id).first()
