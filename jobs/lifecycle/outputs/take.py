"""Take: a file of an attempt has arrived. Only the holder of the claim hands files over, and doing so renews it."""

from collections.abc import Callable
from datetime import timedelta

from jobs.db import Now, transactional
from jobs.exceptions import InvalidInput
from jobs.handlers.base import ClaimRef, Report
from jobs.lifecycle.fence import lock_one
from jobs.lifecycle.report import report
from jobs.models import Output, OutputFile
from jobs.uploads.errors import AlreadyFinal, BeingChecked
from jobs.uploads.limits import check_amount
from jobs.uploads.receiving import Announced, Arrived, nothing_more

SILENT = timedelta(seconds=20)  # so long a check says nothing before it counts as killed with its server


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
    if output.check_id and not was_killed(output):
        raise BeingChecked
    return output


def was_killed(output: Output) -> bool:
    """Under the lock: a check that says nothing any more is over, and whatever it finds out does not count."""
    silent = Output.objects.filter(pk=output.pk, check_alive_at__lt=Now() - SILENT)
    return bool(silent.update(check_id=None))


def require_room(output: Output, file: Announced | Arrived) -> tuple[int, int]:
    """How many files and bytes the attempt has with this one, or TooLarge. It is exact under the lock of the job.

    Asked without it as well, before a byte is read: what is refused then need not be sent.
    """
    number, size = output.with_file(file.path, file.size)
    check_amount(file.path, number, size)
    return number, size


@transactional
def note(output: Output, claim: ClaimRef, arrived: Arrived, give_name: Callable[[], None] = nothing_more) -> None:
    """Under the lock of the job: what comes after its claim was lost, or while it is checked or later, does not count.

    The file gets its name under it, too: none appears among those that were looked at, and of two that are sent as one
    path the row is about the one that stays.
    """
    lock_one(claim)
    output.refresh_from_db()
    if output.finalized_at:
        raise AlreadyFinal
    if output.check_id:
        raise BeingChecked
    number, size = require_room(output, arrived)
    Output.objects.filter(pk=output.pk).update(number=number, size=size)
    facts = {"size": arrived.size, "sha256": arrived.sha256}
    OutputFile.objects.update_or_create(output=output, path=arrived.path, defaults=facts)
    give_name()
