"""The history of a job."""

from jobs.models import Job, JobEvent


def timeline(job: Job) -> list[JobEvent]:
    """Its events, oldest first."""
    return list(JobEvent.objects.filter(job_id=job.pk).order_by("id"))


def latest_events(job: Job, limit: int) -> list[JobEvent]:
    """The last ones of a history that may be long, oldest first."""
    return list(JobEvent.objects.filter(job_id=job.pk).order_by("-id")[:limit])[::-1]
