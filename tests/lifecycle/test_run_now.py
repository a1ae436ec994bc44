"""Run now: what waits for its time is due at once, and nothing else is touched."""

from datetime import timedelta

import pytest

from jobs.lifecycle.claim import claim
from jobs.lifecycle.finish import fail
from jobs.lifecycle.run_now import NOT_SCHEDULED, run_now
from jobs.models import Job, JobEvent
from jobs.selectors.clock import database_now
from jobs.states import TERMINAL, Hold, Status
from tests.factories import claimed, events_of, job_in, make_job, make_worker, reload


def scheduled(**options) -> Job:
    return make_job(run_after=database_now() + timedelta(hours=1), **options)


def test_a_scheduled_job_can_be_claimed_at_once():
    job = scheduled()
    assert run_now(job.pk, "by anna").moved == [job.pk]
    assert (reload(job).hold, reload(job).run_after <= database_now()) == (Hold.NONE, True)
    assert [taken.id for taken in claim(make_worker())] == [job.pk]
    assert JobEvent.objects.get(name="expedited").reason == "by anna"


def test_a_job_that_waits_for_its_next_attempt_need_not_wait():
    ref = claimed()
    fail(ref, "broken", retry_after=600)
    assert run_now(ref.job_id).moved == [ref.job_id]
    assert (reload(ref).attempt, reload(ref).last_error) == (1, "broken")
    assert [taken.id for taken in claim(make_worker("other"))] == [ref.job_id]


@pytest.mark.parametrize("status", [Status.PENDING, Status.RUNNING, *TERMINAL])
def test_what_is_not_scheduled_is_left_alone(status):
    job = job_in(status)
    before = events_of(job)
    result = run_now([job.pk, job.pk + 1000])
    assert (result.moved, result.skipped) == ([], dict.fromkeys([job.pk, job.pk + 1000], NOT_SCHEDULED))
    assert events_of(job) == before


def test_many_are_due_by_filter():
    mine, other = scheduled(scope="mine"), scheduled(scope="other")
    assert run_now(Job.objects.filter(scope="mine")).moved == [mine.pk]
    assert reload(other).hold == Hold.SCHEDULED
