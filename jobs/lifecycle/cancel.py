"""Cancel: a pending job at once; a running one is asked to stop, and its worker's next word ends it."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from jobs.db import Now, transactional
from jobs.lifecycle import events, transition
from jobs.lifecycle.selection import Selection, batches
from jobs.models import Dependency, Job
from jobs.states import ACTIVE, EventName, Status

PARENT_CANCELLED = "the job that spawned it was cancelled"


@dataclass
class CancelResult:
    cancelled: list[int] = field(default_factory=list)
    requested: list[int] = field(default_factory=list)
    skipped: list[int] = field(default_factory=list)

    def add(self, other: "CancelResult") -> None:
        self.cancelled += other.cancelled
        self.requested += other.requested
        self.skipped += other.skipped


def cancel(selection: Selection, reason: str = "") -> CancelResult:
    """Cancel jobs; those that have ended, or were asked before, are skipped."""
    result = CancelResult()
    for ids in batches(selection):
        result.add(cancel_batch(ids, reason))
    cancel_children([*result.cancelled, *result.requested])
    return result


def cancel_children(parents: Sequence[int]) -> None:
    """What jobs spawned is of no use without them: it goes, too, and so does what that spawned."""
    seen: set[int] = set()
    while parents:
        spawned = Dependency.objects.of(parents).spawned().unfinished()
        children = sorted(set(spawned.values_list("needs_id", flat=True)) - seen)
        seen.update(children)
        for ids in batches(children):
            cancel_batch(ids, PARENT_CANCELLED)
        parents = children


@transactional
def cancel_batch(ids: list[int], reason: str) -> CancelResult:
    jobs = transition.lock(Job.objects.with_ids(ids).filter(status__in=ACTIVE, cancel_requested_at=None))
    pending = [job for job in jobs if job.status == Status.PENDING]
    running = [job for job in jobs if job.status == Status.RUNNING]
    transition.move(pending, Status.CANCELLED, EventName.CANCELLED, reason=reason)
    request(running, reason)
    return CancelResult(
        cancelled=[job.pk for job in pending],
        requested=[job.pk for job in running],
        skipped=sorted(set(ids) - {job.pk for job in jobs}),
    )


def request(running: Sequence[Job], reason: str) -> None:
    if running:
        Job.objects.with_ids([job.pk for job in running]).update(cancel_requested_at=Now())
        events.record(events.of_job(job, EventName.CANCEL_REQUESTED, reason=reason) for job in running)
