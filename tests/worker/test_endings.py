"""What became of an attempt, seen from outside: with processes that really ended so."""

import os
import signal
from collections.abc import Callable
from datetime import timedelta

import pytest

from jobs.handlers.base import Outcome
from jobs.states import Verdict
from jobs.worker.child_handle import Assignment
from jobs.worker.endings import describe_exit, outcome_with_child
from jobs.worker.messages import Reason
from tests.worker.household import Household, tell, wait_until_gone

Register = Callable[..., str]
Death = Callable[[Assignment], None]


def dies_of(*order: object) -> Death:
    """A death from within: the child calls this."""

    def die(assignment: Assignment) -> None:
        tell(assignment.child, *order)  # type: ignore[arg-type]
        wait_until_gone(assignment.child)

    return die


def is_killed(assignment: Assignment) -> None:
    """By us, because of this or another job in it."""
    assignment.child.kill()
    wait_until_gone(assignment.child)


def outcome(assignment: Assignment, said: Outcome | None = None) -> tuple[Verdict, str] | None:
    found = outcome_with_child(assignment, said)
    return (found.verdict, found.error) if found else None


@pytest.fixture
def attempt(household: Household, kind: Register) -> Assignment:
    """One that can be stopped for any reason; it has not begun."""
    return household.assignment(kind=kind(stall_timeout=5), max_runtime=timedelta(seconds=90), attempt=2)


def begin(assignment: Assignment) -> None:
    assignment.child.board.begin(assignment.place)


def end(assignment: Assignment) -> None:
    begin(assignment)
    assignment.child.board.end(assignment.place)


CRASHED = "Attempt 2 of 3: its process {}."


@pytest.mark.parametrize(
    ("death", "how"),
    [
        (dies_of(signal.raise_signal, signal.SIGKILL), "was killed by SIGKILL"),
        (dies_of(signal.raise_signal, signal.SIGUSR2), "was killed by SIGUSR2"),
        (dies_of(os._exit, 3), "ended with exit code 3"),
        (dies_of(os._exit, 0), "ended with exit code 0"),
    ],
)
def test_an_attempt_whose_process_died_in_its_midst_has_crashed(attempt: Assignment, death: Death, how):
    begin(attempt)
    death(attempt)
    assert outcome(attempt) == (Verdict.CRASHED, CRASHED.format(how))


@pytest.mark.parametrize("death", [dies_of(os._exit, 3), is_killed])
def test_what_had_not_begun_goes_back_uncharged(attempt: Assignment, death: Death):
    death(attempt)
    assert outcome(attempt) == (Verdict.RELEASED, "its process ended before it began")


@pytest.mark.parametrize(
    ("death", "how"), [(dies_of(os._exit, 3), "ended with exit code 3"), (is_killed, "was killed by SIGKILL")]
)
def test_what_had_ended_and_could_not_say_how_has_failed_and_not_crashed(attempt: Assignment, death: Death, how):
    end(attempt)
    death(attempt)
    assert outcome(attempt) == (Verdict.FAILED, f"The outcome was lost: its process {how} right after it.")


@pytest.mark.parametrize(
    ("reason", "why"),
    [
        (None, "its process was ended because of another job in it"),
        (Reason.STOPPING, "its worker is shutting down"),
        (Reason.CANCELLED, "its process was ended because of another job in it"),
    ],
)
def test_what_was_killed_for_no_fault_of_its_own_goes_back_uncharged(attempt: Assignment, reason, why):
    begin(attempt)
    attempt.stop_reason = reason
    is_killed(attempt)
    assert outcome(attempt) == (Verdict.RELEASED, why)


def test_an_exclusive_attempt_whose_child_ended_itself_in_time_goes_back_uncharged(attempt: Assignment):
    begin(attempt)
    attempt.child.board.yield_lease(attempt.place)
    dies_of(os._exit, 1)(attempt)
    assert outcome(attempt) == (
        Verdict.RELEASED, "its lease could not be renewed, and it must not run without one",
    )  # fmt: skip


@pytest.mark.parametrize("death", [lambda assignment: None, is_killed, dies_of(os._exit, 3)])
@pytest.mark.parametrize("says_completed", [True, False])
@pytest.mark.parametrize(
    ("reason", "decided"),
    [
        (Reason.TIMEOUT, (Verdict.FAILED, "Timeout after 90 s")),
        (Reason.STALLED, (Verdict.FAILED, "No progress for 5 s")),
        (Reason.LOST, None),
    ],
)
def test_when_the_time_is_up_or_the_claim_lost_it_does_not_matter_what_the_handler_says_or_how_it_ends(
    attempt: Assignment, death: Death, says_completed, reason, decided
):
    begin(attempt)
    attempt.stop_reason = reason
    death(attempt)
    assert outcome(attempt, Outcome.completed(attempt.job.claim) if says_completed else None) == decided


@pytest.mark.parametrize("reason", [None, Reason.STOPPING, Reason.CANCELLED])
def test_otherwise_what_the_handler_says_counts(attempt: Assignment, reason):
    begin(attempt)
    attempt.stop_reason = reason
    assert outcome(attempt, Outcome.failed(attempt.job.claim, "broken")) == (Verdict.FAILED, "broken")


def test_while_its_child_lives_nothing_said_means_that_the_claim_is_lost(attempt: Assignment):
    begin(attempt)
    assert outcome(attempt) is None


def test_a_signal_without_a_name_is_told_by_its_number():
    assert describe_exit(-99) == "was killed by signal 99"
