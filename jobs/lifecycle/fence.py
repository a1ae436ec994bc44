"""The fence around every write of a worker: which claims hold, and why the others do not."""

from collections.abc import Collection
from itertools import starmap

from django.db import OperationalError

from jobs.db import is_lock_timeout
from jobs.exceptions import ClaimError, ClaimExpired, ClaimLost, JobLocked
from jobs.given import GivenList
from jobs.handlers.base import ClaimRef
from jobs.lifecycle.locked_job import LOCKED_FIELDS, AnyJob, LockedJob
from jobs.lifecycle.sql.built_once import Statement, built_once, select
from jobs.lifecycle.transition import locking
from jobs.models import Job
from jobs.states import Status

# What a worker says of its claim proves that it knows of it, whatever its heartbeats left out.
KNOWN = {"unlisted_beats": 0}


def lock_held(claims: Collection[ClaimRef]) -> dict[ClaimRef, LockedJob]:
    """Lock the jobs whose claim holds: right id, right claim, running, lease not over."""
    if not claims:
        return {}
    rows = held_jobs().rows(job_ids=[c.job_id for c in claims], claim_ids={c.claim_id for c in claims})
    locked = {job.id: job for job in starmap(LockedJob, rows)}
    return {claim: job for claim in claims if (job := locked.get(claim.job_id)) and job.claim_id == claim.claim_id}


@built_once
def held_jobs() -> Statement:
    held = Job.objects.held_by(GivenList("job_ids"), GivenList("claim_ids"))
    return select(locking(held).values_list(*LOCKED_FIELDS))


def ref_of(job: AnyJob) -> ClaimRef:
    assert job.claim_id is not None
    return ClaimRef(job.pk, job.claim_id)


def refusals(claims: Collection[ClaimRef]) -> dict[ClaimRef, ClaimError]:
    """Why claims that are not held are refused: expired ones can still be renewed, lost ones cannot."""
    now_held_by = dict(Job.objects.with_ids(c.job_id for c in claims).values_list("pk", "claim_id"))
    return {
        claim: (ClaimExpired if now_held_by.get(claim.job_id) == claim.claim_id else ClaimLost)(job_id=claim.job_id)
        for claim in claims
    }


def verify(claim: ClaimRef) -> None:
    """Ask the database now whether the claim holds; raises ClaimExpired or ClaimLost if not."""
    if not Job.objects.held_by([claim.job_id], [claim.claim_id]).exists():
        raise refusals([claim])[claim]


def kept_locked(claims: Collection[ClaimRef]) -> set[ClaimRef]:
    """Those that nobody has taken, but whose rows somebody keeps locked: maybe for so long that no beat renews them.

    The others are locked by this.
    """
    calls = {claim.claim_id for claim in claims}
    theirs = Job.objects.with_ids([c.job_id for c in claims]).filter(claim_id__in=calls, status=Status.RUNNING)
    free = set(locking(theirs, skip_locked=True).values_list("pk", "claim_id"))
    locked = [row for row in theirs.values_list("pk", "claim_id") if row not in free]
    return {ClaimRef(job_id, call) for job_id, call in locked if call}.intersection(claims)


def lock_one(claim: ClaimRef) -> LockedJob:
    """Raises JobLocked where somebody keeps it for longer than we wait: a worker's other jobs wait behind it."""
    try:
        held = lock_held([claim])
    except OperationalError as error:
        if is_lock_timeout(error):
            raise JobLocked(job_id=claim.job_id) from error
        raise
    if claim not in held:
        raise JobLocked(job_id=claim.job_id) if kept_locked([claim]) else refusals([claim])[claim]
    return held[claim]
