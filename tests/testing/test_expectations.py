"""Assertions about what was enqueued, and what they say when they fail."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.test import TestCase, TransactionTestCase
from django.utils import timezone

from jobs import enqueue
from jobs.exceptions import InvalidInput, UnknownKind
from jobs.testing import JobsMixin, assert_enqueued, assert_not_enqueued, drain, enqueued

pytestmark = pytest.mark.django_db


def refusal(kind="test.noop", payload=None, **expected):
    with pytest.raises(AssertionError) as caught:
        assert_enqueued(kind, payload, **expected)
    return str(caught.value)


def test_a_part_of_the_payload_is_enough_also_deep_inside():
    job_id = enqueue("test.noop", {"a": {"b": 1, "c": [1, {"d": 2}]}, "e": None}).job_id
    parts: list[Any] = [None, {}, {"e": None}, {"a": {}}, {"a": {"b": 1}}, {"a": {"c": (1, {"d": 2})}}]
    for part in parts:
        assert assert_enqueued("test.noop", part).pk == job_id
    for not_there in ({"x": 1}, {"a": {"b": 2}}, {"a": {"b": True}}, {"a": {"c": [1]}}, {"a": 1}, {"e": 0}):
        assert_not_enqueued("test.noop", not_there)


def test_all_that_was_asked_for_must_fit_and_the_last_one_is_returned():
    moment = timezone.now() + timedelta(hours=2)
    enqueue("test.noop", {"n": 1}, queue="a", priority=3, subject="s", scope="x", dedupe_key="k", max_attempts=7)
    last = enqueue("test.noop", {"n": 2}, run_after=moment).job_id
    assert_enqueued("test.noop", queue="a", priority=3, subject="s", scope="x", dedupe_key="k", max_attempts=7, count=1)
    assert assert_enqueued("test.noop").pk == last
    assert assert_enqueued("test.noop", run_after=moment, count=1).pk == last
    assert assert_enqueued("test.noop", run_after=timedelta(hours=2)).pk == last
    assert [job.payload["n"] for job in enqueued("test.noop", run_after=None)] == [1]
    assert_not_enqueued("test.noop", run_after=moment + timedelta(seconds=3))
    assert_enqueued("test.noop", run_after=moment + timedelta(seconds=3), within=5)
    assert_not_enqueued("test.noop", queue="a", priority=4)
    assert len(enqueued()) == 2


def test_what_was_run_was_enqueued_all_the_same():
    enqueue("test.noop")
    drain()
    assert assert_enqueued("test.noop", status="completed", count=1).attempt == 1


def test_a_failure_shows_what_there_is_instead_and_why_it_does_not_fit():
    assert refusal(payload={"n": 1}) == "A job 'test.noop' with {\"n\": 1} was not enqueued. Nothing was."
    job_id = enqueue("test.noop", {"n": 2, "long": "x" * 300}, queue="a").job_id
    said = refusal(payload={"n": 1, "m": 3}, queue="b", run_after=timedelta(minutes=5))
    headline, were, shown = said.splitlines()
    assert headline == "A job 'test.noop' with {\"n\": 1, \"m\": 3}, queue='b', run_after=in 0:05:00 was not enqueued."
    assert were == "Enqueued were:"
    assert shown.startswith(f'  {job_id}: test.noop {{"n": 2, "long": "xxx')
    assert "… queue=a status=pending  ← payload['m'] is not there; payload['n'] is 2, not 1; queue is 'a', " in shown
    assert "run_after is " in shown
    assert shown.endswith("not in 0:05:00")


def test_a_wrong_count_is_told_and_many_jobs_are_not_all_shown():
    for _ in range(25):
        enqueue("test.noop")
    said = refusal(count=1).splitlines()
    assert said[0] == "A job 'test.noop' was enqueued 25 times, not once."
    assert said[2].endswith("this one fits")
    assert said[-1] == "  … and 5 more"
    assert len(said) == 23


def test_what_should_not_be_there_is_shown():
    assert_not_enqueued()
    job_id = enqueue("test.noop", {"n": 1}).job_id
    with pytest.raises(
        AssertionError, match=f"(?s)'test.noop' with .* should not have been enqueued, but was:.*{job_id}: "
    ):
        assert_not_enqueued("test.noop", {"n": 1})
    with pytest.raises(AssertionError, match="A job should not have been"):
        assert_not_enqueued()


def test_a_question_that_nothing_can_fit_is_refused_instead_of_being_answered():
    with pytest.raises(UnknownKind, match=r"Did you mean 'test\.noop'"):
        assert_not_enqueued("test.nop")
    for wrong in (
        {"qeue": "a"},
        {"run_after": 5},
        {"run_after": datetime(2030, 1, 1)},
        {"count": 0},
        {"payload": {"x": datetime(2030, 1, 1, tzinfo=UTC)}},
    ):
        enqueue("test.noop")
        with pytest.raises(InvalidInput):
            assert_enqueued("test.noop", **wrong)


def test_a_kind_of_another_machine_may_be_asked_for_once_it_was_enqueued():
    enqueue("elsewhere.run", allow_unknown=True)
    assert_enqueued("elsewhere.run")


def test_the_fixture_has_it_all(jobyard):
    with jobyard.run_inline() as ran:
        enqueue("test.noop", {"n": 1})
    assert jobyard.enqueued("test.noop") == ran
    jobyard.assert_enqueued("test.noop", {"n": 1})
    jobyard.assert_not_enqueued("test.noop", {"n": 2})
    assert jobyard.drain() == []


class InATransaction(JobsMixin, TestCase):
    @classmethod
    def setUpTestData(cls):
        enqueue("test.noop", {"n": 0}, allow_unknown=True)  # its fixture comes with each test

    def test_the_mixin_runs_what_was_enqueued(self):
        self.assert_enqueued("test.noop", {"n": 0}, count=1)
        assert [job.status for job in self.drain()] == ["completed"]

    def test_and_each_test_begins_anew(self):
        assert [job.status for job in self.enqueued()] == ["pending"]


class WithoutOne(JobsMixin, TransactionTestCase):
    def test_the_mixin_runs_what_was_enqueued(self):
        self.assert_not_enqueued()
        with self.run_inline() as ran:
            enqueue("test.noop")
        assert [job.status for job in ran] == ["completed"]
