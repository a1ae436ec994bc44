"""What a heartbeat brings back for running attempts: leases that were renewed, cancel requests, lost claims."""

import logging

from jobs.handlers.base import Orders
from jobs.logs import Event
from jobs.worker.child_handle import KILL_AFTER
from jobs.worker.crew import Crew
from jobs.worker.ledger import Ledger
from jobs.worker.messages import Reason

logger = logging.getLogger("jobs.worker")
DISABLED = "This worker was disabled, and may have left jobs in its queues: it was to run until they are empty."


def pass_on(orders: Orders, crew: Crew, ledger: Ledger) -> None:
    """What is said of single claims."""
    held = {assignment.job.claim: assignment for assignment in crew.assignments()}
    for assignment in held.values():
        assignment.child.board.set_lease(assignment.place, ledger.lease_ends_at(assignment.job))
    for claim in orders.cancel:
        if claim in held and held[claim].stop_reason is None:
            logger.info(Event("a job is told to stop", order="cancelled", job=claim.job_id))
            held[claim].stop(Reason.CANCELLED)
    ledger.drop(orders.lost)
    for claim in orders.lost:
        if claim in held and held[claim].stop_reason != Reason.LOST:
            held[claim].stop(Reason.LOST, patience=KILL_AFTER)


def stop_all(crew: Crew) -> None:
    """The worker was disabled. What has not begun is called back as well, as long as the worker may not work."""
    logger.warning("this worker was disabled: its jobs are handed back, and it claims nothing")
    for assignment in crew.assignments():
        assignment.stop(Reason.DISABLED, patience=KILL_AFTER)
