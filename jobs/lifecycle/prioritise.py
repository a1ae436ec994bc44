"""Set priority: a pending job moves in its line."""

from jobs.db import transactional
from jobs.lifecycle import events, limits, transition
from jobs.lifecycle.new_job import check_priority
from jobs.lifecycle.selection import Selection, batches
from jobs.models import Job
from jobs.states import EventName, Status


def set_priority(selection: Selection, priority: int, reason: str = "") -> list[int]:
    """Give pending jobs a new priority; returns those that have it now."""
    check_priority(priority)
    return [job_id for ids in batches(selection) for job_id in set_batch(ids, priority, reason)]


@transactional
def set_batch(ids: list[int], priority: int, reason: str) -> list[int]:
    jobs = transition.lock(Job.objects.with_ids(ids).filter(status=Status.PENDING))
    changed = [job for job in jobs if job.priority != priority]
    Job.objects.with_ids([job.pk for job in changed]).update(priority=priority)
    limits.drop_holds(changed)
    why = f", {reason}" if reason else ""
    events.record(
        events.of_job(job, EventName.REPRIORITISED, reason=f"from {job.priority} to {priority}{why}") for job in changed
    )
    return [job.pk for job in jobs]
