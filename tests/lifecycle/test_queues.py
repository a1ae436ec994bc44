"""Pause and resume: nothing of a paused queue is claimed; what runs goes on."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from jobs.exceptions import InvalidInput
from jobs.handlers.base import Report
from jobs.lifecycle.claim import claim
from jobs.lifecycle.finish import complete
from jobs.lifecycle.queues import pause, resume
from jobs.lifecycle.report import report
from jobs.models import JobEvent, Queue
from jobs.selectors.depth import queue_depths
from jobs.states import Status
from tests.factories import claimed, make_job, make_worker, reload


def test_pausing_says_whether_it_changed_anything_and_is_told_once():
    assert pause("slow", "the disk is full")
    assert not pause("slow", "again")
    queue = Queue.objects.get()
    assert (queue.paused, queue.reason, queue.paused_at is None) == (True, "the disk is full", False)
    event = JobEvent.objects.get(name="queue_paused")
    assert (event.queue, event.reason) == ("slow", "the disk is full")


def test_resuming_says_whether_it_changed_anything_and_is_told_once():
    assert not resume("slow")
    pause("slow")
    assert resume("slow")
    assert not resume("slow")
    queue = Queue.objects.get()
    assert (queue.paused, queue.reason, queue.paused_at) == (False, "", None)
    assert JobEvent.objects.filter(name="queue_resumed").count() == 1


def test_what_runs_when_its_queue_is_paused_goes_on():
    ref = claimed()
    pause("default")
    report(Report(ref, progress=50))
    complete(ref)
    assert reload(ref).status == Status.COMPLETED


@pytest.mark.parametrize("verb", [pause, resume])
def test_a_name_that_is_no_queue_is_refused(verb):
    with pytest.raises(InvalidInput, match="queue name"):
        verb("no queue")


@pytest.mark.parametrize("reason", ["r" * 501, "\x00"])
def test_a_reason_that_cannot_be_stored_is_refused(reason):
    with pytest.raises(InvalidInput, match="reason"):
        pause("slow", reason)


def test_a_claim_from_all_queues_asks_no_paused_one():
    for number in range(20):
        make_job(queue=f"q{number}")
        pause(f"q{number}")
    job = make_job(queue="served")
    with CaptureQueriesContext(connection) as statements:
        assert [taken.id for taken in claim(make_worker(), limit=5)] == [job.pk]
    assert len([each for each in statements if '"jobs_job"."queue" = \'q' in each["sql"]]) == 0
    assert "served" in queue_depths().queues
    assert queue_depths().queues["q0"].oldest_pending_seconds is not None
