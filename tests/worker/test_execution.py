"""One attempt: how each way a handler can end becomes an outcome."""

import asyncio
import sys
from collections.abc import Callable, Mapping
from datetime import timedelta

import pytest

from jobs import Fatal, RetryLater
from jobs.conf import conf
from jobs.exceptions import Cancelled, ClaimExpired, ClaimLost, InvalidInput, ShuttingDown
from jobs.handlers.base import Outcome
from jobs.handlers.context import Context
from jobs.handlers.registry import Phase
from jobs.lifecycle.finish import finish_one
from jobs.states import Verdict
from jobs.worker.attempt import Attempt, Interrupted
from jobs.worker.execution import run_attempt
from jobs.worker.messages import Reason
from tests.factories import reload
from tests.handlers.reporter import Remembering, a_claimed_job

Register = Callable[..., str]
HANDED_BACK = (Verdict.RELEASED, "its worker is shutting down")


def run(attempt: Attempt) -> Outcome | None:
    return run_attempt(attempt, Context(attempt.job, Remembering(), attempt))


def outcome_of(
    kind: str, payload: Mapping[str, object] | None = None, reason: Reason | None = None, **options: object
) -> Outcome | None:
    """What became of an attempt; with a reason, it was asked to stop from the beginning."""
    return run(Attempt(a_claimed_job(kind=kind, payload=dict(payload or {}), **options), reason=reason))


def told(outcome: Outcome | None) -> Outcome:
    assert outcome is not None
    return outcome


def raising(error: BaseException) -> Callable[..., None]:
    def function(ctx: Context) -> None:
        raise error

    return function


def test_what_the_handler_returns_is_the_result(kind: Register):
    outcome = told(outcome_of(kind(lambda ctx, **payload: {"got": payload}), {"month": 5}))
    assert (outcome.verdict, outcome.result) == (Verdict.COMPLETED, {"got": {"month": 5}})


def test_an_exception_fails_the_attempt_with_its_type_message_and_traceback(kind: Register):
    outcome = told(outcome_of(kind(raising(LookupError("no such file")))))
    assert (outcome.verdict, outcome.fatal, outcome.error) == (Verdict.FAILED, False, "LookupError: no such file")
    assert "in function" in outcome.traceback


def test_fatal_is_fatal(kind: Register):
    outcome = told(outcome_of(kind(raising(Fatal("not a video")))))
    assert (outcome.verdict, outcome.fatal, outcome.error) == (Verdict.FAILED, True, "Fatal: not a video")


@pytest.mark.parametrize(
    ("error", "fatal"), [(OSError("disk"), True), (FileNotFoundError("gone"), False), (KeyError("other"), False)]
)
def test_a_kind_says_which_errors_are_fatal_and_which_of_those_are_not(kind: Register, error, fatal):
    name = kind(raising(error), fatal_on=(OSError,), retry_on=(FileNotFoundError,))
    assert told(outcome_of(name)).fatal is fatal


@pytest.mark.parametrize("count", [True, False])
def test_retry_later_says_when_and_whether_it_counts(kind: Register, count):
    outcome = told(outcome_of(kind(raising(RetryLater(176_400, count=count)))))
    assert (outcome.verdict, outcome.fatal) == (Verdict.FAILED, False)
    assert (outcome.retry_after, outcome.count) == (176_400, count)


def test_sys_exit_in_a_handler_fails_the_attempt_and_not_the_worker(kind: Register):
    outcome = told(outcome_of(kind(lambda ctx: sys.exit("wrong use"))))
    assert (outcome.verdict, outcome.error) == (Verdict.FAILED, "SystemExit: wrong use")


def interrupted_for(reason: Reason | None, error: type[BaseException] = Interrupted) -> Callable[..., None]:
    """A handler that is interrupted in its midst, and would catch any Exception."""

    def function(ctx: Context) -> None:
        assert isinstance(ctx._stop, Attempt)
        ctx._stop.reason = reason
        try:
            raise error
        except Exception:
            pytest.fail("a handler's `except Exception` must not catch it")

    return function


@pytest.mark.parametrize("reason", Reason)
def test_what_is_stopped_before_it_begins_does_not_begin(kind: Register, reason: Reason):
    outcome_of(kind(lambda ctx: pytest.fail("it began"), stall_timeout=5), None, reason, max_runtime=timedelta(1))


def test_a_handler_that_stops_because_the_job_was_cancelled_says_so(kind: Register):
    assert told(outcome_of(kind(lambda ctx: None), reason=Reason.CANCELLED)).verdict == Verdict.CANCELLED
    assert told(outcome_of(kind(raising(Cancelled(job_id=1))), reason=Reason.CANCELLED)).verdict == Verdict.CANCELLED


@pytest.mark.parametrize("error", [Interrupted, asyncio.CancelledError])
@pytest.mark.parametrize(
    ("reason", "expected"),
    [
        (Reason.STOPPING, HANDED_BACK),
        (Reason.TIMEOUT, (Verdict.FAILED, "Timeout after 90 s")),
        (Reason.STALLED, (Verdict.FAILED, "No progress for 5 s")),
    ],
)
def test_an_interruption_means_what_it_was_made_for_even_if_the_handler_catches_every_exception(
    kind: Register, reason, expected, error
):
    name = kind(interrupted_for(reason, error), stall_timeout=5)
    outcome = told(outcome_of(name, max_runtime=timedelta(seconds=90)))
    assert (outcome.verdict, outcome.error) == expected


@pytest.mark.parametrize("error", [Interrupted, asyncio.CancelledError])
def test_an_interruption_of_a_lost_claim_has_no_outcome(kind: Register, error):
    assert outcome_of(kind(interrupted_for(Reason.LOST, error))) is None


def test_a_coroutine_that_cancels_itself_has_failed(kind: Register):
    outcome = told(outcome_of(kind(interrupted_for(None, asyncio.CancelledError))))
    assert (outcome.verdict, outcome.error) == (Verdict.FAILED, "CancelledError")


@pytest.mark.parametrize("error", [ClaimLost(job_id=1), ClaimExpired(job_id=1)])
def test_a_lost_claim_has_no_outcome(kind: Register, error):
    assert outcome_of(kind(raising(error)), reason=Reason.LOST) is None


@pytest.mark.parametrize("error", [Cancelled(job_id=1), ShuttingDown(job_id=1), ClaimLost(job_id=1)])
def test_an_order_that_nobody_gave_is_an_error_of_the_handler(kind: Register, error):
    assert told(outcome_of(kind(raising(error)))).verdict == Verdict.FAILED


def test_an_unknown_kind_fails_and_may_be_tried_by_another_worker():
    outcome = told(outcome_of("nobody.knows"))
    assert (outcome.verdict, outcome.fatal) == (Verdict.FAILED, False)
    assert "No handler is registered for the kind 'nobody.knows'" in outcome.error


def test_a_payload_that_does_not_fit_fails_before_the_handler_runs(kind: Register):
    def needs_month(ctx: Context, month: int) -> None:
        pytest.fail("it must not run")

    for payload in ({}, {"month": 5, "year": 2024}):
        outcome = told(outcome_of(kind(needs_month), payload))
        assert "InvalidInput: The payload does not fit the handler of" in outcome.error
    assert InvalidInput.__name__ in outcome.traceback


def test_a_payload_that_does_not_fit_a_later_phase_fails_before_the_first_one_runs(kind: Register):
    def first(ctx: Context, **payload: object) -> None:
        pytest.fail("it must not run")

    def second(ctx: Context, month: int) -> None: ...

    name = kind(first, phases=(Phase("first", first), Phase("second", second)))
    assert "missing a required argument: 'month'" in told(outcome_of(name)).error


class Unprintable(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no text")


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (RuntimeError("a\0b \ud800 c"), "RuntimeError: a�b ? c"),
        (RuntimeError("x" * 10_000_000), "characters cut"),
        (Unprintable(), "is not readable"),
        (RuntimeError(), "RuntimeError"),
    ],
    ids=["NUL and surrogate", "ten megabytes", "broken __str__", "no text"],
)
def test_whatever_an_error_says_the_failure_is_recorded(kind: Register, attempt: Attempt, error, expected):
    attempt.job = attempt.job._replace(kind=kind(raising(error)))
    finish_one(told(run(attempt)))
    job = reload(attempt.job.id)
    assert job.status == "pending"
    assert expected in job.last_error
    assert 0 < len(job.last_error) <= conf.MAX_ERROR
    assert 0 < len(job.last_traceback) <= conf.MAX_ERROR
