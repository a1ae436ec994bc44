"""What a heartbeat brings back for running attempts: leases that were renewed, cancel requests, lost claims."""

import logging

from jobs.handlers.base import Orders
from jobs.worker.crew import PATIENCE, Crew
from jobs.worker.ledger import Ledger
from jobs.worker.messages import Reason

logger = logging.getLogger("jobs.worker")


def pass_on(orders: Orders, crew: Crew, ledger: Ledger) -> None:
    held = {assignment.job.claim: assignment for assignment in crew.assignments()}
    for assignment in held.values():
        assignment.child.board.set_lease(assignment.place, ledger.lease_ends_at(assignment.job))
    for claim in orders.cancel:
        if claim in held and held[claim].stop_reason is None:
            logger.info("order=cancelled job=%s", claim.job_id)
            held[claim].stop(Reason.CANCELLED)
    for claim in orders.lost:
        ledger.drop(claim)
        if claim in held and held[claim].stop_reason != Reason.LOST:
            held[claim].stop(Reason.LOST, patience=PATIENCE)
