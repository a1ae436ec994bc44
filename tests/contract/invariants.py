"""The invariants of the lifecycle that can be seen in rows: asked of the database after every step."""

from collections import Counter

from jobs.handlers.base import ClaimRef
from jobs.models import Job, JobEvent, QualityProgress
from jobs.selectors.clock import database_now
from jobs.selectors.depth import queue_depths
from jobs.states import ACTIVE, TERMINAL, Bucket, EventName, Hold, QualityStatus, Status

# Where each event finds a job, and where it leaves it; the others leave the status alone.
MOVES = {
    EventName.CLAIMED: ({Status.PENDING}, Status.RUNNING),
    EventName.STARTED: ({Status.RUNNING}, Status.RUNNING),
    EventName.CANCEL_REQUESTED: ({Status.RUNNING}, Status.RUNNING),
    EventName.RETRYING: ({Status.RUNNING}, Status.PENDING),
    EventName.RELEASED: ({Status.RUNNING}, Status.PENDING),
    EventName.REAPED: ({Status.RUNNING}, Status.PENDING),
    EventName.COMPLETED: ({Status.RUNNING}, Status.COMPLETED),
    EventName.FAILED: ({Status.RUNNING}, Status.FAILED),
    EventName.CANCELLED: (set(ACTIVE), Status.CANCELLED),
    EventName.REQUEUED: (set(TERMINAL), Status.PENDING),
}


def check_all() -> list[Job]:
    """Returns the jobs as they are now."""
    jobs = list(Job.objects.defer("payload", "result", "checkpoint"))
    events = list(JobEvent.objects.filter(job_id__in=[job.pk for job in jobs]).order_by("id"))
    check_claims(jobs)
    check_outcomes(events)
    check_attempts(jobs)
    check_keys(jobs)
    check_history(jobs, events)
    check_counters(jobs)
    return jobs


def check_claims(jobs: list[Job]) -> None:
    """1: a claim if and only if it runs; the worker's writes need all four parts of it."""
    for job in jobs:
        claim = (job.claim_id, job.worker_id, job.claimed_at, job.lease_expires_at)
        assert (None not in claim) if job.status == Status.RUNNING else set(claim) == {None}, job


def check_outcomes(events: list[JobEvent]) -> None:
    """3: a claim is given out once, and one outcome is accepted for it."""
    given = Counter((event.job_id, event.claim_id) for event in events if event.name == EventName.CLAIMED)
    accepted = Counter((event.job_id, event.claim_id) for event in events if event.outcome)
    assert set(given.values()) <= {1}
    assert set(accepted.values()) <= {1}


def check_attempts(jobs: list[Job]) -> None:
    """4 and 9: never more executions than allowed, and what is to be cancelled does not wait to run."""
    for job in jobs:
        assert 0 <= job.attempt <= job.max_attempts, job
        assert job.status != Status.PENDING or job.cancel_requested_at is None, job


def check_keys(jobs: list[Job]) -> None:
    """7: one active job per queue and key."""
    active = Counter((job.queue, job.dedupe_key) for job in jobs if job.dedupe_key and job.status in ACTIVE)
    assert set(active.values()) <= {1}


def check_history(jobs: list[Job], events: list[JobEvent]) -> None:
    """6 and 9: every change of status has its event, and nothing but a retry follows an end."""
    status: dict[int, Status] = {}
    for event in events:
        assert event.job_id is not None
        if event.name == EventName.ENQUEUED:
            status[event.job_id] = Status.PENDING
        elif event.name in MOVES:
            allowed, to = MOVES[EventName(event.name)]
            assert status[event.job_id] in allowed, f"{event}, which was {status[event.job_id]}"
            status[event.job_id] = to
    assert status == {job.pk: job.status for job in jobs}


def check_counters(jobs: list[Job]) -> None:
    """The counters are what counting the rows says."""
    now = database_now()
    counted = Counter((job.queue, shown_bucket(job, now)) for job in jobs)
    shown = {
        (queue, bucket): getattr(depth, bucket)
        for queue, depth in queue_depths().queues.items()
        for bucket in Bucket
        if getattr(depth, bucket)
    }
    assert shown == counted


def shown_bucket(job, now) -> Bucket:
    """Scheduled jobs that are due count as pending, promoted or not."""
    if job.status == Status.PENDING and job.hold == Hold.SCHEDULED and job.run_after > now:
        return Bucket.SCHEDULED
    return Bucket(job.status)


def completed_qualities() -> dict[int, set[str]]:
    """8: what is completed stays so; by job."""
    kept: dict[int, set[str]] = {}
    for job_id, name in QualityProgress.objects.filter(status=QualityStatus.COMPLETED).values_list("job_id", "name"):
        kept.setdefault(job_id, set()).add(name)
    return kept


def row_of(job: Job) -> tuple[object, ...]:
    """What the model knows of a row, in the model's order."""
    ref = ClaimRef(job.pk, job.claim_id) if job.claim_id else None
    asked = job.cancel_requested_at is not None
    return job.pk, job.status, job.attempt, job.crashes, ref, job.worker_id, asked, job.unlisted_beats, job.unique_ever
