"""Hand over: with the completion of its job, what an attempt made is the kind's, and no longer ours to tidy up."""

from jobs.exceptions import JobyardError
from jobs.handlers.base import ClaimRef
from jobs.handlers.registry import Kind
from jobs.models import Job, Output
from jobs.states import WorkerType


class NotHandedOver(JobyardError):
    """The worker says that job {job_id} is completed, but has not handed its files over: finalize comes first."""


def hand_over(job: Job, kind: Kind) -> None:
    """In the completion's transaction, before the kind's own hook: that one builds on files that are whole."""
    assert job.claim_id is not None, "it is called by finish(), which holds the claim"
    claim = ClaimRef(job.pk, job.claim_id)
    output = Output.objects.of(claim)
    if output is None:
        if owes_files(job, claim, kind):
            raise NotHandedOver(job_id=job.pk)
        return
    if not output.finalized_at:
        raise NotHandedOver(job_id=job.pk)
    output.delete()


def owes_files(job: Job, claim: ClaimRef, kind: Kind) -> bool:
    """A worker beside the storage puts its files there itself."""
    is_remote = job.worker is not None and job.worker.type == WorkerType.REMOTE
    return is_remote and kind.files is not None and bool(kind.files(claim, job.payload).writes)
