"""Run now: a job that waits for its time, or for its next attempt, is due at once."""

from collections.abc import Sequence
from functools import partial

from jobs.db import Now, transactional
from jobs.lifecycle import transition
from jobs.lifecycle.by_batch import MoveResult, by_batch
from jobs.lifecycle.selection import Selection
from jobs.models import Job
from jobs.states import EventName, Hold

NOT_SCHEDULED = "it is not scheduled for later, or waits for other jobs"


def run_now(selection: Selection, reason: str = "") -> MoveResult:
    """Let scheduled jobs run as soon as a worker has room; those that are due, run or have ended are left alone."""
    return by_batch(selection, partial(run_now_batch, reason=reason), NOT_SCHEDULED)


@transactional
def run_now_batch(ids: Sequence[int], reason: str) -> list[int]:
    jobs = transition.lock(Job.objects.with_ids(ids).scheduled())
    transition.rearrange(jobs, EventName.EXPEDITED, reason=reason, hold=Hold.NONE, run_after=Now())
    return [job.pk for job in jobs]
