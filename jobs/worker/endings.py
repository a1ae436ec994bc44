"""What became of an attempt, seen from outside: its own word, what it was stopped for, or how its process died."""

from jobs.handlers.base import Outcome
from jobs.handlers.process import signal_name
from jobs.worker.child_handle import Assignment
from jobs.worker.execution import stopped
from jobs.worker.messages import RELEASED_BECAUSE, Reason

DECIDED = (Reason.TIMEOUT, Reason.STALLED, Reason.LOST)


def outcome_with_child(assignment: Assignment, said: Outcome | None) -> Outcome | None:
    """None where the claim is lost. What a handler says after its time was up, or its claim lost, does not count."""
    if assignment.stop_reason in DECIDED:
        return stopped(assignment.job, assignment.stop_reason)
    if said is not None or not assignment.child.is_gone:
        return said
    return outcome_of_death(assignment)


def outcome_of_death(assignment: Assignment) -> Outcome:
    """The child is dead and has not said how this attempt ended; its board shows how far it was."""
    claim, child = assignment.job.claim, assignment.child
    if assignment.has_yielded:
        return Outcome.released(claim, RELEASED_BECAUSE[Reason.LEASE])
    if assignment.began_at is None and assignment.ended_at is None:
        return Outcome.released(claim, "its process ended before it began")
    if assignment.stop_reason in RELEASED_BECAUSE:
        return Outcome.released(claim, RELEASED_BECAUSE[assignment.stop_reason])
    how = describe_exit(child.exit_code or 0)
    if assignment.ended_at is not None:
        return Outcome.failed(claim, f"The outcome was lost: its process {how} right after it.")
    if child.killed:
        return Outcome.released(claim, "its process was ended because of another job in it")
    return Outcome.crashed(
        claim, f"Attempt {assignment.job.attempt} of {assignment.job.max_attempts}: its process {how}."
    )


def describe_exit(code: int) -> str:
    return f"ended with exit code {code}" if code >= 0 else f"was killed by {signal_name(-code)}"
