"""Take: a file of an attempt has arrived. Only the holder of the claim hands files over, and doing so renews it."""

from jobs.db import transactional
from jobs.exceptions import InvalidInput
from jobs.handlers.base import ClaimRef, Report
from jobs.lifecycle.fence import lock_one
from jobs.lifecycle.report import report
from jobs.models import Output, OutputFile
from jobs.uploads.errors import AlreadyFinal
from jobs.uploads.receiving import Arrived


def renew(claim: ClaimRef) -> None:
    """To hand files over is progress: it renews the lease as every report does, or raises as every report does."""
    report(Report(claim))


@transactional
def begin(claim: ClaimRef, folder: str) -> Output:
    """Before the first byte is written: whatever becomes of it, the row says where to tidy up."""
    if not folder:  # of all that is stored
        raise InvalidInput(f"The kind of job {claim.job_id} hands no files over.")
    renew(claim)
    output, _ = Output.objects.get_or_create(job_id=claim.job_id, claim_id=claim.claim_id, defaults={"folder": folder})
    if output.finalized_at:
        raise AlreadyFinal
    return output


@transactional
def note(output: Output, claim: ClaimRef, arrived: Arrived) -> None:
    """Under the lock of the job: what comes after its claim was lost, or after it was finalized, does not count."""
    lock_one(claim)
    if Output.objects.filter(pk=output.pk, finalized_at__isnull=False).exists():
        raise AlreadyFinal
    facts = {"size": arrived.size, "sha256": arrived.sha256}
    OutputFile.objects.update_or_create(output=output, path=arrived.path, defaults=facts)
