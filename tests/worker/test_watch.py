"""Which attempts must be stopped, and why: looked at from outside, at a moment that the test gives."""

import os
import signal
import time
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from jobs.worker.child_handle import LONG, Assignment, ChildHandle
from jobs.worker.leases import LONGEST_MARGIN, last_moment, lease_clock, margin
from jobs.worker.ledger import Ledger
from jobs.worker.messages import Reason
from jobs.worker.watch import RECALL_AFTER, UNHEARD, UNTAKEN, is_held_up, watch, why_to_stop
from tests.handlers.reporter import a_claimed_job
from tests.worker.household import Household, give, wait_until_gone

Register = Callable[..., str]
MINUTE = timedelta(minutes=1)


def begun(household: Household, **options: Any) -> tuple[Assignment, float]:
    """An attempt that has begun, and when."""
    assignment = household.assignment(**options)
    assignment.child.board.begin(assignment.place)
    assert assignment.began_at is not None
    return assignment, assignment.began_at


def test_an_attempt_is_stopped_when_its_max_runtime_is_over(household: Household):
    assignment, began = begun(household, max_runtime=MINUTE)
    assert why_to_stop(assignment, Ledger(), began + 59.9) is None
    assert why_to_stop(assignment, Ledger(), began + 60.1) == Reason.TIMEOUT


def test_without_a_limit_it_may_go_on_for_ever(household: Household):
    assignment, began = begun(household)
    assert why_to_stop(assignment, Ledger(), began + 1e9) is None


@pytest.mark.parametrize("kind_name", ["test.noop", "nobody.knows"])
def test_the_time_that_it_waited_does_not_count_nor_what_comes_after_its_end(household: Household, kind_name):
    assignment = household.assignment(kind=kind_name, max_runtime=MINUTE)
    assert why_to_stop(assignment, Ledger(), 1e9) is None
    assignment.child.board.begin(assignment.place)
    assert why_to_stop(assignment, Ledger(), 1e9) == Reason.TIMEOUT
    assignment.child.board.end(assignment.place)
    assert why_to_stop(assignment, Ledger(), 1e9) is None


def test_an_attempt_is_stopped_when_it_makes_no_progress_for_too_long(household: Household, kind: Register):
    assignment, began = begun(household, kind=kind(stall_timeout=10))
    assert why_to_stop(assignment, Ledger(), began + 9.9) is None
    assert why_to_stop(assignment, Ledger(), began + 10.1) == Reason.STALLED
    assignment.progressed_at = began + 9
    assert why_to_stop(assignment, Ledger(), began + 18.9) is None
    assert why_to_stop(assignment, Ledger(), began + 19.1) == Reason.STALLED


@pytest.mark.parametrize(("exclusive", "reason"), [(True, Reason.LEASE), (False, None)])
def test_what_is_exclusive_is_stopped_before_its_lease_ends_and_others_run_on(
    household: Household, kind: Register, exclusive, reason
):
    assignment, began = begun(household, kind=kind(exclusive=exclusive), lease=timedelta(seconds=2000))
    ledger, margin = Ledger(), LONGEST_MARGIN
    ledger.add([assignment.job], lease_clock() - 1900 + margin)
    assert why_to_stop(assignment, ledger, began) is None
    ledger.renewed([assignment.job.claim], lease_clock() - 2000 + 0.9 * margin)
    assert why_to_stop(assignment, ledger, began) == reason
    ledger.renewed([assignment.job.claim], lease_clock())
    assert why_to_stop(assignment, ledger, began) is None


def test_a_lease_goes_on_while_the_machine_is_suspended(
    household: Household, kind: Register, monkeypatch: pytest.MonkeyPatch
):
    assignment, began = begun(household, kind=kind(exclusive=True))
    ledger = Ledger()
    ledger.add([assignment.job], lease_clock())
    assert why_to_stop(assignment, ledger, began) is None
    slept = time.clock_gettime(time.CLOCK_BOOTTIME) + assignment.job.lease.total_seconds()
    monkeypatch.setattr(time, "clock_gettime", {time.CLOCK_BOOTTIME: slept}.get)
    assert why_to_stop(assignment, ledger, began) == Reason.LEASE


@pytest.mark.parametrize(("lease", "seconds"), [(1, 0.25), (20, 5), (40, 10), (3600, LONGEST_MARGIN)])
def test_the_margin_is_a_share_of_the_lease_and_not_more_than_it_takes_to_stop_a_handler(lease, seconds):
    job = a_claimed_job(lease=timedelta(seconds=lease))
    assert margin(job) == seconds
    assert 0 < last_moment(job) < seconds


@pytest.mark.parametrize("reason", [Reason.TIMEOUT, Reason.STALLED, Reason.LOST, Reason.STOPPING])
def test_what_was_stopped_already_is_not_stopped_again(household: Household, reason):
    assignment, _ = begun(household, max_runtime=MINUTE)
    assignment.stop_reason = reason
    assert why_to_stop(assignment, Ledger(), 1e9) is None


def test_a_cancelled_attempt_that_takes_no_notice_still_has_its_limits(household: Household):
    assignment, _ = begun(household, max_runtime=MINUTE)
    assignment.stop_reason = Reason.CANCELLED
    assert why_to_stop(assignment, Ledger(), 1e9) == Reason.TIMEOUT


# What waits


def test_jobs_behind_one_that_takes_long_are_called_back(household: Household):
    first, began = begun(household)
    child = first.child
    assert not is_held_up(child, began + 1e9)  # nothing waits
    since = give(child, a_claimed_job()).given_at
    assert not is_held_up(child, since + 0.9 * RECALL_AFTER)
    assert is_held_up(child, since + 1.1 * RECALL_AFTER)
    child.last_ended_at = since + RECALL_AFTER
    assert not is_held_up(child, since + 1.1 * RECALL_AFTER)


def test_jobs_that_have_just_come_are_left_to_the_free_slot_beside_one_that_takes_long(household: Household):
    child = household.child(slots=2)
    child.board.begin(give(child, a_claimed_job()).place)
    child.last_ended_at = -1e9
    first, *_ = [give(child, a_claimed_job()) for _ in range(5)]
    since = first.given_at
    assert not is_held_up(child, since + 0.1)
    assert is_held_up(child, since + 1.1 * RECALL_AFTER)


def test_a_job_that_is_not_begun_though_a_slot_is_free_is_called_back_in_the_end(household: Household):
    assignment = household.assignment()
    assert not is_held_up(assignment.child, assignment.given_at + 0.9 * UNTAKEN)
    assert is_held_up(assignment.child, assignment.given_at + 1.1 * UNTAKEN)


class OneChild:
    """What `watch` needs of a crew."""

    def __init__(self, child: ChildHandle) -> None:
        self.children = [child]


def test_where_jobs_end_all_the_time_none_is_looked_at_and_where_they_do_not_each_is(household: Household):
    assignment, began = begun(household, max_runtime=timedelta(milliseconds=1))
    crew: Any = OneChild(assignment.child)
    assignment.child.last_ended_at = began
    watch(crew, Ledger(), began + LONG / 2)
    assert assignment.stop_reason is None
    watch(crew, Ledger(), began + LONG * 2)
    assert assignment.stop_reason == Reason.TIMEOUT


# Children that have nothing to run


def moments(child: ChildHandle) -> tuple[float, float, float]:
    """When it is seen first, for the last time at which it may be as it is, and when that is over."""
    first = child.last_ended_at + 2 * LONG
    return first, first + 0.9 * UNHEARD, first + 1.1 * UNHEARD


def assert_killed_in_the_end(child: ChildHandle, caplog: pytest.LogCaptureFixture) -> None:
    crew: Any = OneChild(child)
    first, still, over = moments(child)
    for now in (first, still):
        watch(crew, Ledger(), now)
        assert not child.killed
    for _ in range(2):
        watch(crew, Ledger(), over)
    wait_until_gone(child)
    assert (child.exit_code, caplog.text.count(f"neither goes on nor ends pid={child.pid}")) == (-signal.SIGKILL, 1)


def test_a_child_that_never_comes_to_what_was_called_back_is_killed(household: Household, caplog):
    child = household.assignment().child
    os.kill(child.pid, signal.SIGSTOP)
    assert child.recall()
    assert_killed_in_the_end(child, caplog)


def test_a_child_that_says_how_its_job_ended_and_then_hangs_is_killed(household: Household, caplog):
    assignment, _ = begun(household)
    assignment.child.board.end(assignment.place)
    assignment.child.ended(assignment.job.claim)
    assert_killed_in_the_end(assignment.child, caplog)


def test_a_child_that_was_to_end_and_does_not_is_killed(household: Household, caplog):
    child = household.child(isolated=True)
    os.kill(child.pid, signal.SIGSTOP)
    child.retire()
    assert_killed_in_the_end(child, caplog)


def test_a_child_that_goes_on_after_a_while_or_waits_for_a_job_or_runs_one_is_not(household: Household):
    assignment, _ = begun(household)
    child, claim = assignment.child, assignment.job.claim
    crew: Any = OneChild(child)
    first, still, over = moments(child)
    give(child, a_claimed_job())
    assert child.recall()
    for now in (first, over):  # it runs something, and what was called back waits behind that
        watch(crew, Ledger(), now)
    child.board.end(assignment.place)
    child.ended(claim)
    watch(crew, Ledger(), over)
    for _ in range(2):  # it is through with both
        child.board.count()
    for now in (over + still, over + over):
        watch(crew, Ledger(), now)
    assert not child.killed
