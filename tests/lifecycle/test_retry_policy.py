"""The retry policy: pure; strategies, cap and jitter, and when to give up."""

import pytest

from jobs.exceptions import InvalidInput
from jobs.lifecycle.retry_policy import LONGEST_WAIT, Backoff, Decision, decide, decide_after_crash, with_jitter

FIXED = Backoff("fixed", 10, 3600)


@pytest.mark.parametrize(
    ("strategy", "waits"),
    [("fixed", [10, 10, 10, 10]), ("linear", [10, 20, 30, 40]), ("exponential", [10, 20, 40, 80])],
)
def test_how_the_wait_grows(strategy, waits):
    backoff = Backoff(strategy, 10, 3600)
    assert [backoff.delay(failures) for failures in (1, 2, 3, 4)] == waits


@pytest.mark.parametrize("strategy", ["fixed", "linear", "exponential"])
def test_no_wait_is_longer_than_the_cap(strategy):
    backoff = Backoff(strategy, 10, 25)
    assert max(backoff.delay(failures) for failures in (1, 2, 3, 50, 1000)) <= 25


@pytest.mark.parametrize("strategy", ["fixed", "linear", "exponential"])
def test_a_base_of_zero_waits_never(strategy):
    assert Backoff(strategy, 0, 3600).delay(5) == 0


def test_the_default_comes_from_the_settings(settings):
    assert Backoff.default() == Backoff("exponential", 10, 3600)
    settings.JOBS_BACKOFF, settings.JOBS_BACKOFF_BASE, settings.JOBS_BACKOFF_CAP = "linear", 5, 50
    assert Backoff.default() == Backoff("linear", 5, 50)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("fixed", Backoff("fixed", 10, 3600)),
        ("linear:3", Backoff("linear", 3, 3600)),
        ("exponential:0.5:8", Backoff("exponential", 0.5, 8)),
        ("fixed:7200", Backoff("fixed", 7200, 7200)),
        ("fixed:0", Backoff("fixed", 0, 3600)),
        ("", Backoff("exponential", 10, 3600)),
    ],
)
def test_a_backoff_is_read_from_text(text, expected):
    assert Backoff.parse(text) == expected


@pytest.mark.parametrize("text", ["never", "fixed:", "fixed:x", "fixed:-1", "fixed:inf", "fixed:5:1", "fixed:1:2:3"])
def test_a_backoff_that_is_not_understood_is_refused(text):
    with pytest.raises(InvalidInput, match="is not understood"):
        Backoff.parse(text)


def test_a_stored_backoff_that_is_not_understood_is_the_default_and_told(caplog):
    assert Backoff.stored("linear:3", 7) == Backoff("linear", 3, 3600)
    assert caplog.text == ""
    assert Backoff.stored("whenever", 7) == Backoff.default()
    assert "job=7 backoff='whenever'" in caplog.text


@pytest.mark.parametrize(("attempt", "retried"), [(1, True), (2, True), (3, False), (4, False)])
def test_max_attempts_counts_the_first_run(attempt, retried):
    assert decide(attempt=attempt, max_attempts=3, backoff=FIXED).retry is retried


def test_a_fatal_error_is_never_retried():
    told = decide(attempt=1, max_attempts=3, backoff=FIXED, fatal=True, retry_after=5, count=False)
    assert told == Decision(retry=False)


def test_retry_after_goes_before_the_backoff():
    assert decide(attempt=1, max_attempts=3, backoff=FIXED, retry_after=77) == Decision(True, 77)
    assert decide(attempt=1, max_attempts=3, backoff=FIXED, retry_after=0) == Decision(True, 0)


def test_an_attempt_that_does_not_count_is_retried_though_it_was_the_last():
    assert decide(attempt=3, max_attempts=3, backoff=FIXED, retry_after=5, count=False).retry


@pytest.mark.parametrize(("crashes", "delay"), [(0, 0), (1, 10), (5, 10)])
def test_only_the_first_crash_is_retried_at_once(crashes, delay):
    assert decide_after_crash(attempt=1, max_attempts=3, crashes=crashes, backoff=FIXED) == Decision(True, delay)


def test_the_first_crash_of_the_last_attempt_gives_up():
    assert not decide_after_crash(attempt=3, max_attempts=3, crashes=0, backoff=FIXED).retry


def test_jitter_adds_up_to_its_share_and_differs(settings):
    settings.JOBS_BACKOFF_JITTER = 0.5
    waits = {with_jitter(100, cap=1000) for _ in range(50)}
    assert 100 <= min(waits) < max(waits) <= 150


def test_jitter_keeps_a_wait_of_zero_at_zero(settings):
    settings.JOBS_BACKOFF_JITTER = 1
    assert with_jitter(0, cap=10) == 0


def test_jitter_never_lifts_a_wait_above_its_cap(settings):
    settings.JOBS_BACKOFF_JITTER = 1
    assert {with_jitter(100, cap=100) for _ in range(20)} == {100}


@pytest.mark.parametrize("asked", [1e12, 1e18, 1e300])
def test_no_wait_is_longer_than_a_database_can_add(asked):
    decision = decide(attempt=1, max_attempts=3, backoff=Backoff("fixed", 1, 1), retry_after=asked)
    assert decision == Decision(True, LONGEST_WAIT)
