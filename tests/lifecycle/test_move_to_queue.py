"""Move to another queue: pending jobs change their line, as far as dedupe keys allow."""

from datetime import timedelta

import pytest

from jobs.exceptions import InvalidInput
from jobs.lifecycle.claim import claim
from jobs.lifecycle.move_to_queue import NOT_PENDING, TAKEN, move_to_queue
from jobs.models import Job, JobEvent
from jobs.selectors.clock import database_now
from jobs.states import TERMINAL, Hold, Status
from tests.factories import events_of, job_in, kept_counts, make_job, make_worker, reload


def test_a_moved_job_is_claimed_from_its_new_queue_only():
    job = make_job(queue="slow", priority=7)
    assert move_to_queue(job.pk, "fast", "by anna").moved == [job.pk]
    assert JobEvent.objects.get(name="moved").reason == "from slow to fast, by anna"
    assert kept_counts() == {("fast", "pending"): 1}
    worker = make_worker()
    assert claim(worker, ["slow"]) == []
    assert [(taken.id, reload(taken.id).priority) for taken in claim(worker, ["fast"])] == [(job.pk, 7)]


def test_a_scheduled_job_keeps_its_time():
    due = database_now() + timedelta(hours=1)
    job = make_job(queue="slow", run_after=due)
    move_to_queue(job.pk, "fast")
    assert (reload(job).hold, reload(job).run_after) == (Hold.SCHEDULED, due)


@pytest.mark.parametrize("status", [Status.RUNNING, *TERMINAL])
def test_what_does_not_wait_is_left_alone(status):
    job = job_in(status)
    assert move_to_queue(job.pk, "fast").skipped == {job.pk: NOT_PENDING}
    assert reload(job).queue == "default"


def test_a_key_that_is_taken_there_keeps_its_job_here_and_holds_up_no_other():
    there = make_job(queue="fast", dedupe_key="film")
    twin, free = make_job(queue="slow", dedupe_key="film"), make_job(queue="slow", dedupe_key="clip")
    result = move_to_queue([twin.pk, free.pk], "fast")
    assert (result.moved, result.skipped) == ([free.pk], {twin.pk: TAKEN})
    assert (reload(twin).queue, reload(free).queue, reload(there).queue) == ("slow", "fast", "fast")
    assert events_of(twin) == ["enqueued"]


def test_of_two_jobs_with_the_same_key_from_two_queues_one_goes():
    first, second = make_job(queue="a", dedupe_key="film"), make_job(queue="b", dedupe_key="film")
    result = move_to_queue(Job.objects.all(), "c")
    assert (result.moved, result.skipped) == ([first.pk], {second.pk: TAKEN})


def test_who_is_there_already_is_not_touched():
    job = make_job(queue="fast")
    assert move_to_queue(job.pk, "fast").moved == [job.pk]
    assert events_of(job) == ["enqueued"]


def test_a_name_that_is_none_is_refused():
    with pytest.raises(InvalidInput, match="queue name"):
        move_to_queue(make_job().pk, "no such name")
