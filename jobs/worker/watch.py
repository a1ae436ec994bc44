"""Which attempts must be stopped now, and why. Looked at often, from outside of the process that runs them."""

import logging
from typing import Protocol

from jobs.handlers.base import ClaimedJob, ClaimRef
from jobs.handlers.registry import registry
from jobs.logs import Event
from jobs.worker.child_handle import KILL_AFTER, Assignment, ChildHandle
from jobs.worker.crew import Crew
from jobs.worker.leases import lease_clock, margin, patience
from jobs.worker.ledger import Ledger
from jobs.worker.messages import Reason

logger = logging.getLogger("jobs.worker")
UNHEARD = 60.0  # seconds: another job in the same process may hold the interpreter for a while, or its scratch be large
RECALL_AFTER = 0.5  # seconds: what waits behind a job that takes longer goes to somebody else
UNTAKEN = 5.0  # seconds: a process that does not even begin what it has a free slot for is stopped, or starved


class Timed(Protocol):
    """What is asked of an attempt to tell whether its time is over."""

    @property
    def job(self) -> ClaimedJob: ...
    @property
    def began_at(self) -> float | None: ...
    @property
    def progressed_at(self) -> float: ...
    @property
    def stop_reason(self) -> Reason | None: ...


def watch(crew: Crew, ledger: Ledger, now: float) -> None:
    """Interrupt what must stop, and kill what does not. Where jobs end all the time, none has run for long."""
    busy = [child for child in crew.children if not child.is_brisk(now)]
    for assignment in [each for child in busy for each in child.assignments.values()]:
        reason = why_to_stop(assignment, ledger, now)
        if reason:
            in_time = patience(assignment.job, KILL_AFTER) if reason == Reason.LEASE else KILL_AFTER
            assignment.stop(reason, patience=in_time)
        if assignment.kill_at and now >= assignment.kill_at and not assignment.child.killed:
            logger.warning(killing("a process whose handler does not stop", assignment))
            assignment.child.kill()
        if is_unheard(assignment, now):
            logger.warning(killing("a process that does not say how a job ended", assignment))
            assignment.child.kill()
    for child in crew.children:
        if is_stuck(child, now):
            logger.warning(Event("killing a process that runs nothing and neither goes on nor ends", pid=child.pid))
            child.kill()


def killing(whom: str, assignment: Assignment) -> Event:
    return Event(f"killing {whom}", pid=assignment.child.pid, job=assignment.job.id, kind=assignment.job.kind)


def recall(crew: Crew, now: float, *, everything: bool) -> list[ClaimRef]:
    """Call back what has not begun: everything, or what would wait for long."""
    held_up = crew.children if everything else [child for child in crew.pool if is_held_up(child, now)]
    return [claim for child in held_up for claim in child.recall()]


def is_unheard(assignment: Assignment, now: float) -> bool:
    """Its handler ended long ago, and its process has not told how: it cannot speak."""
    ended_at = assignment.ended_at
    return ended_at is not None and now - ended_at > UNHEARD and not assignment.child.killed


def is_stuck(child: ChildHandle, now: float) -> bool:
    """It has no job to run, but has long not been through with its last one, or not ended though it was to."""
    runs = child.is_brisk(now) or bool(child.assignments)
    if runs or not (child.retired or child.given > child.board.through):
        child.stuck_since = None
    elif child.stuck_since is None:
        child.stuck_since = now
    return child.stuck_since is not None and now - child.stuck_since > UNHEARD and not child.killed


def is_held_up(child: ChildHandle, now: float) -> bool:
    """Jobs wait in it, and none has ended for a while."""
    if now - child.last_ended_at <= RECALL_AFTER:
        return False  # as is usual: told without a look at each of its jobs
    since = child.waiting_since()
    patience = RECALL_AFTER if len(child.assignments) > child.slots else UNTAKEN
    return since is not None and now - since > patience


def why_to_stop(assignment: Timed, ledger: Ledger, now: float) -> Reason | None:
    """None while it may go on, and if it was stopped already."""
    began = assignment.began_at
    if began is None or assignment.stop_reason not in (None, Reason.CANCELLED):
        return None
    job = assignment.job
    if job.max_runtime and now - began >= job.max_runtime.total_seconds():
        return Reason.TIMEOUT
    kind = registry.find(job.kind)
    if kind is None:
        return None
    if kind.stall_timeout and now - max(began, assignment.progressed_at) >= kind.stall_timeout:
        return Reason.STALLED
    if kind.exclusive and ledger.lease_ends_at(job) - lease_clock() < margin(job):
        return Reason.LEASE
    return None
