"""Attempts: executions since the last manual retry never exceed max_attempts, and only executions are charged."""

from collections.abc import Callable

import pytest

from jobs.handlers.base import ClaimRef
from jobs.lifecycle.claim import claim
from jobs.lifecycle.finish import fail, release
from jobs.lifecycle.heartbeat import heartbeat
from jobs.lifecycle.reap import reap_once
from jobs.lifecycle.retry import requeue, retry
from jobs.lifecycle.start import start
from jobs.models import Job
from jobs.states import Status
from tests.factories import age, claimed, make_worker, reload

LONG = 5000  # over every lease, threshold and backoff of these tests


def failing(ref: ClaimRef) -> None:
    fail(ref, "broken")


def crashing(ref: ClaimRef) -> None:
    age(LONG)
    reap_once()


def executions(end: Callable[[ClaimRef], None], max_attempts: int) -> int:
    """Run a new job until it is pending no more; how often it ran."""
    ref = claimed(max_attempts=max_attempts)
    number = 1
    end(ref)
    while reload(ref).status == Status.PENDING:
        age(LONG)
        ref = claimed(job=reload(ref))
        number += 1
        assert reload(ref).attempt == number
        end(ref)
    assert reload(ref).status == Status.FAILED
    return number


@pytest.mark.parametrize("max_attempts", [1, 2, 3])
@pytest.mark.parametrize("end", [failing, crashing])
def test_a_job_is_executed_max_attempts_times_the_first_run_included(end, max_attempts):
    assert executions(end, max_attempts) == max_attempts


@pytest.mark.parametrize("end", [failing, crashing])
def test_a_backoff_that_is_not_understood_keeps_no_attempt_from_its_end_and_holds_up_no_other(end):
    unreadable, other = claimed(), claimed()
    Job.objects.filter(pk=unreadable.job_id).update(backoff="whenever")
    end(unreadable)
    job = reload(unreadable)
    assert (job.status, job.attempt) == (Status.PENDING, 1)
    assert "broken" in job.last_error or "was lost with" in job.last_error
    assert reload(other).status == (Status.PENDING if end is crashing else Status.RUNNING)


def test_a_crash_counts_as_one_crash_and_a_failure_as_none():
    ref = claimed()
    crashing(ref)
    assert (reload(ref).attempt, reload(ref).crashes) == (1, 1)
    failing(claimed(job=reload(ref)))
    assert (reload(ref).attempt, reload(ref).crashes) == (2, 1)


def test_the_next_attempt_is_told_of_the_crash():
    ref = claimed()
    crashing(ref)
    [again] = claim(make_worker())
    assert (again.attempt, again.crashes) == (2, 1)


def test_what_crashed_before_its_start_was_marked_is_not_charged():
    ref = claimed(start=False, max_attempts=1)
    crashing(ref)
    job = reload(ref)
    assert (job.status, job.attempt, job.crashes) == (Status.PENDING, 0, 0)


def test_what_crashed_after_its_start_was_marked_is_charged():
    ref = claimed(start=False, max_attempts=1)
    start(ref)
    crashing(ref)
    job = reload(ref)
    assert (job.status, job.attempt, job.crashes) == (Status.FAILED, 1, 1)
    assert "Attempt 1 of 1 was lost with worker worker" in job.last_error


def test_the_start_mark_of_an_earlier_attempt_does_not_charge_the_next():
    ref = claimed(backoff="fixed:0")
    failing(ref)
    crashing(claimed(job=reload(ref), start=False))
    assert (reload(ref).attempt, reload(ref).crashes) == (1, 0)


def test_releasing_what_was_not_started_gives_nothing_back():
    ref = claimed(backoff="fixed:0")
    failing(ref)
    release(claimed(job=reload(ref), start=False), "not now")
    assert reload(ref).attempt == 1


def test_an_unlisted_claim_is_given_back_what_it_was_charged_and_no_more():
    first = claimed(backoff="fixed:0")
    failing(first)
    for started in (True, False):
        worker = make_worker()
        ref = claimed(worker, reload(first), start=started)
        heartbeat(worker.pk)
        heartbeat(worker.pk)
        reap_once()
        assert (reload(ref).status, reload(ref).attempt) == (Status.PENDING, 1)


def test_retry_later_may_keep_the_attempt():
    ref = claimed(max_attempts=1)
    assert fail(ref, "the disk is full", retry_after=30, count=False).status == Status.PENDING
    job = reload(ref)
    assert (job.attempt, job.hold) == (0, "scheduled")
    age(31)
    ref = claimed(job=job)
    assert fail(ref, "broken").status == Status.FAILED


def test_retry_later_gives_nothing_back_to_what_was_not_started():
    ref = claimed(backoff="fixed:0")
    failing(ref)
    fail(claimed(job=reload(ref), start=False), "later", retry_after=0, count=False)
    assert reload(ref).attempt == 1


def test_retry_later_that_counts_ends_when_the_attempts_are_used_up():
    ref = claimed(max_attempts=1)
    assert fail(ref, "later", retry_after=30).status == Status.FAILED


@pytest.mark.parametrize("again", [retry, requeue])
def test_a_manual_retry_gives_all_attempts_back(again):
    ref = claimed(max_attempts=2)
    fail(ref, "broken", fatal=True)
    again(ref.job_id)
    assert reload(ref).attempt == 0
    for expected in (Status.PENDING, Status.FAILED):
        age(LONG)
        assert fail(claimed(job=reload(ref)), "broken").status == expected
