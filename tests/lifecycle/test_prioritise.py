"""Set priority: pending jobs move in their line, and only they."""

from datetime import timedelta

import pytest

from jobs.exceptions import InvalidInput
from jobs.lifecycle.claim import claim
from jobs.lifecycle.prioritise import set_priority
from jobs.models import Job, JobEvent
from jobs.selectors.clock import database_now
from jobs.states import TERMINAL, Status
from tests.factories import events_of, job_in, make_job, make_worker, reload


def test_a_job_moved_to_the_front_is_taken_first():
    first, second = make_job(), make_job()
    assert set_priority(second.pk, 5) == [second.pk]
    assert [job.id for job in claim(make_worker(), limit=2)] == [second.pk, first.pk]
    assert JobEvent.objects.get(name="reprioritised").reason == "from 0 to 5"


def test_a_scheduled_job_has_its_new_priority_when_it_is_due():
    job = make_job(run_after=database_now() + timedelta(hours=1))
    set_priority(job.pk, -7)
    assert reload(job).priority == -7


def test_the_same_priority_again_changes_nothing():
    job = make_job(priority=3)
    assert set_priority(job.pk, 3) == [job.pk]
    assert events_of(job) == ["enqueued"]


@pytest.mark.parametrize("status", [Status.RUNNING, *TERMINAL])
def test_jobs_that_do_not_wait_are_left_alone(status):
    job = job_in(status)
    assert set_priority(job.pk, 5) == []
    assert reload(job).priority == 0


def test_many_are_moved_by_filter():
    mine, other = make_job(scope="mine"), make_job(scope="other")
    assert set_priority(Job.objects.filter(scope="mine"), 9) == [mine.pk]
    assert reload(other).priority == 0


@pytest.mark.parametrize("priority", [101, -101, 0.5, True])
def test_a_priority_out_of_range_is_refused(priority):
    job = make_job()
    with pytest.raises(InvalidInput, match="from -100 to 100"):
        set_priority(job.pk, priority)


def test_who_moved_it_is_in_its_history():
    set_priority(make_job().pk, 5, "by anna")
    assert JobEvent.objects.get(name="reprioritised").reason == "from 0 to 5, by anna"
