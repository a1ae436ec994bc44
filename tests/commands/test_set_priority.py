"""`set_priority`: waiting jobs move in their line."""

import pytest

from jobs.states import Status
from tests.commands.calls import refused, run, run_json
from tests.factories import job_in, make_job, reload

pytestmark = pytest.mark.django_db


def test_named_jobs_get_the_priority_also_a_negative_one():
    first, second = make_job(), make_job()
    assert run("set_priority", -5, first.pk, second.pk) == f"Priority -5: 2 jobs ({first.pk}, {second.pk}).\n"
    assert (reload(first).priority, reload(second).priority) == (-5, -5)


def test_a_filter_moves_pending_jobs_only():
    job_in(Status.COMPLETED, queue="media")
    pending = make_job(queue="media")
    assert run_json("set_priority", 50, "--queue", "media") == {"priority": 50, "jobs": [pending.pk], "skipped": []}


def test_a_named_job_that_is_not_pending_fails_the_command():
    done = job_in(Status.COMPLETED)
    refusal = refused("set_priority", 50, done.pk)
    assert refusal.code == 1
    assert "Left alone, because not pending or not there" in refusal.printed


@pytest.mark.parametrize("priority", ["101", "-101", "x", "", "1.0"])
def test_a_priority_out_of_range_is_refused(priority):
    job = make_job()
    refusal = refused("set_priority", priority, job.pk)
    assert (refusal.code, reload(job).priority) == (2, 0)
    assert "is not a whole number from -100 to 100" in refusal.sentence
