"""The history of a job."""

from jobs.models import Job, JobEvent
from jobs.states import EventName


def timeline(job: Job) -> list[JobEvent]:
    """Its events, oldest first."""
    return from_the_beginning(job, list(JobEvent.objects.filter(job_id=job.pk).order_by("id")))


def latest_events(job: Job, limit: int) -> list[JobEvent]:
    """The last ones of a history that may be long, oldest first."""
    latest = list(JobEvent.objects.filter(job_id=job.pk).order_by("-id")[:limit])[::-1]
    return latest if len(latest) == limit else from_the_beginning(job, latest)


def from_the_beginning(job: Job, events: list[JobEvent]) -> list[JobEvent]:
    """Of jobs that were enqueued by the hundred one event tells: the first line of their own is on the row."""
    if events and events[0].name == EventName.ENQUEUED:
        return events
    enqueued = JobEvent(name=EventName.ENQUEUED, at=job.enqueued_at, job_id=job.pk, queue=job.queue, attempt=0)
    return [enqueued, *events]
