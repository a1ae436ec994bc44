"""Promote: scheduled jobs whose time has come enter the ready index."""

from jobs.lifecycle import transition
from jobs.lifecycle.locked_job import LOCKED_FIELDS, LockedJob
from jobs.lifecycle.sql.built_once import Statement, built_once, select
from jobs.models import Job
from jobs.states import Bucket, Hold

PROMOTE_AT_ONCE = 1000


def promote_due() -> int:
    """Clear the hold of jobs that are due, in the caller's transaction; whoever comes second skips them."""
    due = [LockedJob(*row) for row in due_jobs().rows()]
    if due:
        Job.objects.with_ids(job.pk for job in due).update(hold=Hold.NONE)
        transition.count(due, Bucket.PENDING)
    return len(due)


@built_once
def due_jobs() -> Statement:
    first = Job.objects.due().select_for_update(skip_locked=True, no_key=True)
    return select(first.values_list(*LOCKED_FIELDS)[:PROMOTE_AT_ONCE])
