"""Start: the mark that a claimed job, fetched ahead, is about to run. From here on it is charged an attempt."""

from django.db.models import F

from jobs.db import Now, transactional
from jobs.exceptions import Cancelled
from jobs.handlers.base import ClaimRef
from jobs.lifecycle import events
from jobs.lifecycle.fence import KNOWN, lock_one
from jobs.models import Job
from jobs.states import EventName


@transactional
def start(claim: ClaimRef) -> int:
    """Mark the execution and return its attempt number; a job cancelled meanwhile does not start."""
    job = lock_one(claim)
    if job.cancel_requested_at:
        raise Cancelled(job_id=claim.job_id)
    mine = Job.objects.filter(pk=job.pk)
    if job.has_started:  # repeated: the first answer was lost
        mine.update(**KNOWN)
        return job.attempt
    job.attempt += 1
    mine.update(attempt=F("attempt") + 1, started_at=Now(), lease_expires_at=Now() + F("lease"), **KNOWN)
    events.record([events.of_job(job, EventName.STARTED)])
    return job.attempt
