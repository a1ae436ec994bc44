"""Which claims a worker may speak of: those on jobs it holds, and those it once made."""

from collections.abc import Collection
from uuid import UUID

from jobs.handlers.base import ClaimRef
from jobs.models import Job, JobEvent


def owned(worker_id: UUID, claims: Collection[ClaimRef]) -> set[ClaimRef]:
    """A job that the worker holds is its own, whatever claim it names: the fence will say that it is the wrong one.

    Of the others, claims that it made: their jobs may have gone on to somebody else, or have ended.
    """
    jobs = Job.objects.with_ids({claim.job_id for claim in claims}).filter(worker=worker_id)
    held = set(jobs.values_list("pk", flat=True))
    mine = {claim for claim in claims if claim.job_id in held}
    others = set(claims) - mine
    return mine | once_made(worker_id, others) if others else mine


def once_made(worker_id: UUID, claims: Collection[ClaimRef]) -> set[ClaimRef]:
    """By what the history says of that job. That the worker made such a claim on others says nothing of this one."""
    exist = Job.objects.with_ids({claim.job_id for claim in claims}).values_list("pk", flat=True)
    ids = {claim.claim_id for claim in claims}
    history = JobEvent.objects.filter(job_id__in=list(exist), claim_id__in=ids, worker_id=worker_id)
    told = set(history.values_list("job_id", "claim_id"))
    return {claim for claim in claims if tuple(claim) in told}


def once_had(worker_id: UUID, job_ids: Collection[int]) -> set[int]:
    """Of these jobs, those in whose history the worker is."""
    had = JobEvent.objects.filter(job_id__in=job_ids, worker_id=worker_id, claim_id__isnull=False)
    return {job_id for job_id in had.values_list("job_id", flat=True).distinct() if job_id is not None}
