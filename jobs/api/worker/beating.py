"""The heartbeat: a worker says that it lives, what it holds and how far that is, and is told what to do."""

from dataclasses import replace
from typing import Any

from django.http import HttpRequest
from ninja import Router

from jobs.api.worker import schemas
from jobs.api.worker.access import WorkerAccess, worker_of
from jobs.api.worker.wire import answer, largest, raw, told
from jobs.conf import conf
from jobs.exceptions import ClaimExpired, ClaimLost, InvalidInput, JobLocked, JobyardError
from jobs.handlers.base import ClaimRef, Report
from jobs.lifecycle.heartbeat import heartbeat as beat
from jobs.lifecycle.ownership import owned
from jobs.lifecycle.report import report
from jobs.lifecycle.workers import check_facts
from jobs.models import Worker
from jobs.selectors.clock import database_now
from jobs.wire.codecs import BEAT, BEATEN, CLAIM, REPORT
from jobs.wire.messages import Beaten
from jobs.wire.names import Code
from jobs.wire.shapes import list_of

router = Router(tags=["Remote workers"])
access = WorkerAccess(largest=largest)


@router.post("/heartbeat", summary="Say that the worker lives", **access.options(schemas.Beaten))
def heartbeat(request: HttpRequest, sent: schemas.Beat) -> Any:
    """Every `heartbeat_interval` seconds. A lease that ran out is renewed, too, unless somebody else has the job."""
    worker, said = worker_of(request), told(request, BEAT)
    reports = list_of(REPORT).decode(raw(request).get("reports", []))
    claims = {*said.claims, *(each.claim for each in reports)}
    orders = beat(
        worker.pk,
        claims,
        capabilities=None if sent.capabilities is None else check_facts("capabilities", sent.capabilities),
        metadata=None if said.metadata is None else check_facts("metadata", said.metadata),
        version=said.version or None,
        lists_all=said.lists_all,
    )
    refused = report_all(worker, [each for each in reports if each.claim not in orders.lost])
    lost = tuple(claim for claim, error in refused if isinstance(error, ClaimLost))
    beaten = Beaten(replace(orders, lost=orders.lost + lost), database_now().isoformat(), conf.WORKER_VERSION)
    others = [as_told(claim, error) for claim, error in refused if claim not in lost]
    return answer({**BEATEN.encode(beaten), **({"refused": others} if others else {})})


def report_all(worker: Worker, reports: list[Report]) -> list[tuple[ClaimRef, JobyardError]]:
    """One that is refused takes no other with it, and no order; returns which are, and why."""
    refused: list[tuple[ClaimRef, JobyardError]] = []
    mine = owned(worker.pk, [each.claim for each in reports])
    for each in reports:
        try:
            if each.claim in mine:
                report(each)
        except (ClaimLost, ClaimExpired, JobLocked, InvalidInput) as error:
            refused.append((each.claim, error))
    return refused


def as_told(claim: ClaimRef, error: JobyardError) -> dict[str, Any]:
    """The job goes on: its claim holds, or can be renewed."""
    return {"claim": CLAIM.encode(claim), "code": getattr(error, "code", Code.INVALID), "message": str(error)}
