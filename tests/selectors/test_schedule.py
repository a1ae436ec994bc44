"""When the next scheduled job is due, by the database's clock."""

from datetime import timedelta

import pytest

from jobs.handlers.base import Outcome
from jobs.lifecycle.finish import finish_one
from jobs.models import Limit
from jobs.selectors.clock import database_now
from jobs.selectors.schedule import next_due_in, outlook
from tests.factories import age, claimed, make_job, make_worker

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


def test_an_idle_worker_hears_whether_there_may_be_something_for_it(django_assert_num_queries):
    worker = make_worker().pk
    make_job_in(60)
    with django_assert_num_queries(1):
        found = outlook(worker)
    assert not found.work_waits
    assert found.next_due_in == pytest.approx(60, abs=5)
    age(120)
    assert outlook(worker).work_waits  # it is due


def test_what_is_ready_and_what_a_limit_lets_go_is_something():
    worker = make_worker().pk
    Limit.objects.create(target="kind", name="slow", rate_jobs=1, rate_seconds=1, opens_at=database_now())
    assert outlook(worker).work_waits
    Limit.objects.all().delete()
    assert not outlook(worker).work_waits
    make_job()
    assert outlook(worker).work_waits
