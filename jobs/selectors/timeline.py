"""The history of a job."""

from jobs.models import Job, JobEvent


def timeline(job: Job) -> list[JobEvent]:
    """Its events, oldest first."""
    return list(JobEvent.objects.filter(job_id=job.pk).order_by("id"))
