"""Move to another queue: a pending job changes its line, and keeps its priority and its time."""

from collections.abc import Sequence
from functools import partial
from itertools import groupby

from jobs.db import transactional
from jobs.lifecycle import limits, transition
from jobs.lifecycle.by_batch import MoveResult, by_batch
from jobs.lifecycle.new_job import check_queue
from jobs.lifecycle.selection import Selection
from jobs.models import Job
from jobs.states import EventName, Status

NOT_PENDING = "it is not pending"
TAKEN = "the other queue has a job with the same dedupe key"


def move_to_queue(selection: Selection, queue: str, reason: str = "") -> MoveResult:
    """Let pending jobs wait in another queue. One whose dedupe key is taken there stays where it is."""
    check_queue(queue)
    return by_batch(selection, partial(move_batch, queue=queue, reason=reason), NOT_PENDING, duplicate=TAKEN)


@transactional
def move_batch(ids: Sequence[int], queue: str, reason: str) -> list[int]:
    """Those that are in that queue already count as moved, and are not touched."""
    jobs = transition.lock(Job.objects.with_ids(ids).filter(status=Status.PENDING))
    limits.drop_holds(jobs)
    elsewhere = sorted((job for job in jobs if job.queue != queue), key=lambda job: job.queue)
    for old, moved in groupby(elsewhere, key=lambda job: job.queue):
        told = ", ".join(filter(None, (f"from {old} to {queue}", reason)))
        transition.rearrange(list(moved), EventName.MOVED, reason=told, queue=queue)
    return [job.pk for job in jobs]
