"""What a worker says of one job that it holds: how far it is, whether it still has it, and how it ended."""

from typing import Any
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from ninja import Router

from jobs.api.worker import schemas
from jobs.api.worker.access import WorkerAccess, claim_in_header, claim_of
from jobs.api.worker.wire import answer, largest, raw, told
from jobs.exceptions import InvalidInput
from jobs.handlers.base import ClaimRef
from jobs.lifecycle import fence
from jobs.lifecycle.finish import finish_one
from jobs.lifecycle.report import report
from jobs.lifecycle.spawn import spawn as spawn_jobs
from jobs.states import Verdict
from jobs.wire.codecs import ANSWER, CHILDREN, CLAIM, OUTCOME, REPORT, WISH

router = Router(tags=["Jobs of a remote worker"])
tell, ask = WorkerAccess(largest=largest), WorkerAccess(takes_body=False)


def named_claim(request: HttpRequest, job_id: int, sent: schemas.OneClaim) -> ClaimRef:
    """In the body, or in the header."""
    if sent.claim is None and sent.claim_id is None:
        return claim_in_header(request, job_id)
    if sent.claim is not None and sent.claim.job_id != job_id:
        raise InvalidInput(f"claim is on job {sent.claim.job_id}, but the address names job {job_id}.")
    text = sent.claim.claim_id if sent.claim is not None else sent.claim_id
    try:
        return claim_of(request, job_id, UUID(text))
    except ValueError:
        raise InvalidInput("claim_id must be a UUID.") from None


@router.post("/{int:job_id}/progress", summary="Tell how far it is", **tell.options(schemas.Nothing, 404))
def progress(request: HttpRequest, job_id: int, sent: schemas.Progress) -> Any:
    """Renews the lease, as every report does."""
    claim = CLAIM.encode(named_claim(request, job_id, sent))
    report(told(request, REPORT, claim=claim))
    return answer({})


@router.post("/{int:job_id}/checkpoint", summary="Keep where to go on", **tell.options(schemas.Nothing, 404))
def checkpoint(request: HttpRequest, job_id: int, sent: schemas.Checkpoint) -> Any:
    """What the next attempt is given, should this one be cut off."""
    claim = CLAIM.encode(named_claim(request, job_id, sent))
    report(REPORT.decode({"claim": claim, "checkpoint": raw(request)["checkpoint"]}))
    return answer({})


@router.get("/{int:job_id}/verify", summary="Ask whether the claim holds", **ask.options(schemas.Nothing, 404))
def verify(request: HttpRequest, job_id: int) -> Any:
    """Before something that cannot be undone. The claim is named in the header X-Claim-Id."""
    fence.verify(claim_in_header(request, job_id))
    return answer({})


@router.post("/{int:job_id}/complete", summary="It is done", **tell.options(schemas.Answer, 404))
def complete(request: HttpRequest, job_id: int, sent: schemas.Completion) -> Any:
    return ended(request, named_claim(request, job_id, sent), Verdict.COMPLETED)


@router.post("/{int:job_id}/fail", summary="It failed", **tell.options(schemas.Answer, 404))
def fail(request: HttpRequest, job_id: int, sent: schemas.Failure) -> Any:
    """It is tried again where attempts are left, unless the failure is fatal."""
    return ended(request, named_claim(request, job_id, sent), Verdict.FAILED)


@router.post("/{int:job_id}/release", summary="Hand it back", **tell.options(schemas.Answer, 404))
def release(request: HttpRequest, job_id: int, sent: schemas.Release) -> Any:
    """Unfinished: it keeps its attempt."""
    return ended(request, named_claim(request, job_id, sent), Verdict.RELEASED, error=sent.reason)


def ended(request: HttpRequest, claim: ClaimRef, verdict: Verdict, **instead: Any) -> HttpResponse:
    outcome = told(request, OUTCOME, claim=CLAIM.encode(claim), verdict=verdict, **instead)
    return answer(ANSWER.encode(finish_one(outcome)))


@router.post("/{int:job_id}/spawn", summary="Make jobs of its own", **tell.options(schemas.Children, 404))
def spawn(request: HttpRequest, job_id: int, sent: schemas.Wish) -> Any:
    """Each once, however often it is tried again, of the kinds that its kind names. Without any, it tells of those that
    were made."""
    claim = named_claim(request, job_id, sent)
    return answer({"children": CHILDREN.encode(spawn_jobs(claim, told(request, WISH).spawn, remote=True))})
