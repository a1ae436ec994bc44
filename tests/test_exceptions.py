"""Errors explain themselves: a class's docstring is its message, and what it is about comes as keywords."""

import math

import pytest

from jobs.exceptions import ClaimError, ClaimLost, Fatal, InvalidInput, JobyardError, RetryLater, UnknownKind


def test_the_docstring_is_the_message_and_keywords_fill_it():
    error = ClaimLost(job_id=7)
    assert str(error) == "The claim on job 7 is lost: stop working on it and publish nothing."
    assert error.about == {"job_id": 7}


def test_a_message_of_ones_own_goes_before_the_docstring():
    assert str(Fatal("the source is {odd}")) == "the source is {odd}"
    assert str(Fatal()) == "Raised by a handler: this job cannot succeed, do not try it again."


def test_the_tree_lets_callers_catch_by_meaning():
    assert issubclass(UnknownKind, InvalidInput)
    assert issubclass(InvalidInput, ValueError)
    assert issubclass(ClaimLost, ClaimError)
    assert issubclass(ClaimError, JobyardError)


def test_retry_later_says_when_and_whether_the_attempt_counts():
    error = RetryLater(5)
    assert (error.seconds, error.count, str(error)) == (5.0, True, "The handler asked to be tried again in 5 s.")
    assert (RetryLater(0, "disk full", count=False).count, str(RetryLater(0, "disk full"))) == (False, "disk full")


@pytest.mark.parametrize("seconds", [-1, math.inf, math.nan, True, "5", None])
def test_retry_later_needs_a_time_to_wait(seconds):
    with pytest.raises(InvalidInput, match="the seconds to wait, zero or more"):
        RetryLater(seconds)
