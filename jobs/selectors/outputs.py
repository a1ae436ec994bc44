"""What a remote worker may do with files."""

from uuid import UUID

from jobs.exceptions import JobNotFound
from jobs.handlers.base import ClaimRef
from jobs.handlers.reach import Reach
from jobs.handlers.registry import registry
from jobs.lifecycle.fence import refusals
from jobs.models import Job

NOTHING = Reach(reads={})


def reach_of(claim: ClaimRef, worker_id: UUID) -> Reach:
    """What the kind lets the holder of this claim read and write; raises where the claim does not hold."""
    row = Job.objects.held_by([claim.job_id], [claim.claim_id]).values_list("worker_id", "kind", "payload").first()
    if row is None:
        if not Job.objects.filter(pk=claim.job_id).exists():
            raise JobNotFound(job_id=claim.job_id)
        raise refusals([claim])[claim]
    holder, kind, payload = row
    if holder != worker_id:
        raise JobNotFound(job_id=claim.job_id)
    files = registry.get(kind).files
    return files(claim, payload).checked(claim) if files else NOTHING
