"""When the next scheduled job is due, by the database's clock."""

from datetime import timedelta

import pytest

from jobs.handlers.base import Outcome
from jobs.lifecycle.finish import finish_one
from jobs.selectors.clock import database_now
from jobs.selectors.schedule import next_due_in
from tests.factories import age, claimed, make_job

pytestmark = pytest.mark.django_db


def make_job_in(seconds: float) -> None:
    make_job(run_after=database_now() + timedelta(seconds=seconds))


def test_nothing_is_scheduled():
    make_job()
    assert next_due_in() is None


def test_the_earliest_counts():
    for seconds in (600, 60, 6000):
        make_job_in(seconds)
    assert next_due_in() == pytest.approx(60, abs=5)


def test_what_is_due_already_needs_no_wait():
    make_job_in(60)
    age(120)
    assert next_due_in() == 0


def test_a_retry_is_scheduled_too():
    finish_one(Outcome.failed(claimed(backoff="fixed:60"), "broken"))
    assert next_due_in() == pytest.approx(63, abs=8)
