"""Unwritten: what becomes of a job whose outcome cannot be stored in any form."""

import logging
from uuid import UUID

from jobs.db import blames_database, transactional
from jobs.handlers.base import ClaimRef
from jobs.lifecycle.fence import lock_held
from jobs.lifecycle.workers import refresh_status
from jobs.models import Job

logger = logging.getLogger("jobs.finish")
NO_WORKER = UUID(int=0)


def leave_to_reaper(claim: ClaimRef) -> None:
    try:
        let_go(claim)
    except Exception as error:
        if blames_database(error):
            raise
        logger.exception("a job cannot be written at all: it goes on as running job=%s", claim.job_id)


@transactional
def let_go(claim: ClaimRef) -> None:
    """As if its worker were gone: when the lease is over, the reaper takes the job, and charges it.

    Merely left out of heartbeats, it would count as a job that its worker never heard of: it would run uncharged, again
    and again.
    """
    held = lock_held([claim])
    Job.objects.with_ids(job.pk for job in held.values()).update(worker_id=NO_WORKER)
    refresh_status({job.worker_id for job in held.values()})
