"""Queue depths: read from counters, always what counting would give."""

from datetime import timedelta

import pytest

from jobs.lifecycle.claim import claim
from jobs.lifecycle.counts import fold
from jobs.lifecycle.queues import pause, resume
from jobs.selectors import depth
from jobs.selectors.clock import database_now
from jobs.selectors.depth import Depth, counted, queue_depths
from jobs.states import Status
from tests.factories import age, job_in, make_job, make_worker

pytestmark = pytest.mark.django_db


def test_an_empty_yard_has_no_queues():
    depths = queue_depths()
    assert (depths.queues, depths.total) == ({}, Depth())


@pytest.mark.parametrize("folded", [True, False])
def test_every_bucket_of_every_queue_is_counted(folded):
    for status in Status:
        job_in(status, queue=f"{status}-queue")
        if folded:
            fold()
        job_in(status, queue=f"{status}-queue")
    make_job(queue="later", run_after=database_now() + timedelta(hours=1))
    depths = queue_depths()
    for status in Status:
        assert getattr(depths.queues[f"{status}-queue"], status) == 2
    assert depths.queues["later"] == Depth(scheduled=1)
    total = depths.total.as_dict()
    assert {name: total[name] for name in Status} == dict.fromkeys(Status, 2)
    assert total["scheduled"] == 1


def test_the_oldest_waiting_job_is_found_whatever_its_priority():
    make_job(priority=-5)
    age(100)
    make_job(priority=5)
    age(10)
    make_job(queue="other")
    depths = queue_depths()
    assert depths.queues["default"].oldest_pending_seconds == pytest.approx(110, abs=3)
    assert depths.queues["other"].oldest_pending_seconds == pytest.approx(0, abs=3)
    assert depths.total.oldest_pending_seconds == pytest.approx(110, abs=3)


def test_running_and_ended_jobs_do_not_wait():
    for status in (Status.RUNNING, Status.COMPLETED):
        job_in(status, queue=status)
    assert queue_depths().total.oldest_pending_seconds is None


def test_a_scheduled_job_that_is_due_counts_as_pending_before_anybody_promotes_it():
    make_job(run_after=database_now() + timedelta(seconds=50))
    assert queue_depths().queues["default"] == Depth(scheduled=1)
    age(60)
    depth = queue_depths().queues["default"]
    assert (depth.pending, depth.scheduled) == (1, 0)
    assert depth.oldest_pending_seconds == pytest.approx(10, abs=3)


def test_promotion_does_not_count_it_twice():
    make_job(run_after=database_now() + timedelta(seconds=50), queue="a")
    age(60)
    claim(make_worker(), ["b"])
    assert (queue_depths().queues["a"].pending, queue_depths().queues["a"].scheduled) == (1, 0)


def test_paused_queues_are_named_and_shown_even_while_empty():
    pause("quiet")
    depths = queue_depths()
    assert (depths.paused, depths.queues) == (frozenset({"quiet"}), {"quiet": Depth()})
    resume("quiet")
    assert queue_depths().queues == {}


def test_queues_are_sorted_by_name():
    for queue in ("b", "c", "a"):
        make_job(queue=queue)
    assert list(queue_depths().queues) == ["a", "b", "c"]


def test_a_job_that_came_and_was_due_after_the_counters_were_read_takes_nothing_below_zero(monkeypatch):
    """The counters and the due jobs are read by two statements: between them the world goes on."""
    make_job(queue="q")

    def read_then_others_enqueue():
        read = counted()
        make_job(queue="q", run_after=database_now() + timedelta(seconds=50))
        age(60)
        return read

    monkeypatch.setattr(depth, "counted", read_then_others_enqueue)
    found = queue_depths().queues["q"]
    assert (found.pending, found.scheduled) == (1, 0)
