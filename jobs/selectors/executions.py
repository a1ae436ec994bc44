"""The executions of a job, out of its history."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from jobs.models import Job, JobEvent
from jobs.states import EventName


@dataclass(frozen=True)
class Execution:
    at: datetime | None
    worker_name: str


def executions(job: Job) -> Sequence[Execution]:
    """One for each attempt that was charged since the last manual retry; only a job with several needs a query."""
    if job.attempt == 0:
        return []
    latest = Execution(job.started_at, job.last_worker_name)
    if job.attempt == 1:
        return [latest]
    began = JobEvent.objects.filter(job_id=job.pk, name__in=(EventName.CLAIMED, EventName.STARTED)).order_by("id")
    # A later one of the same number took the place of one that was given back.
    known = {number: Execution(at, name) for number, at, name in began.values_list("attempt", "at", "worker_name")}
    return [known.get(number, latest) for number in range(1, job.attempt)] + [latest]
