"""Throughput: rates, failures and times come from tallies that are written with each transition."""

from datetime import timedelta

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext

from jobs.handlers.base import Outcome
from jobs.lifecycle.cancel import cancel
from jobs.lifecycle.claim import claim
from jobs.lifecycle.clear import clear
from jobs.lifecycle.counts import fold
from jobs.lifecycle.finish import complete, fail, finish, release
from jobs.lifecycle.prune import prune_once
from jobs.lifecycle.retry import retry
from jobs.lifecycle.start import start
from jobs.models import Job, MinuteTally, TotalTally
from jobs.selectors.clock import database_now
from jobs.selectors.throughput import DAY, HOUR, activity, activity_by_queue, history
from tests.factories import age, claimed, make_job, make_worker
from tests.in_full import sent_in_full

pytestmark = pytest.mark.django_db
FOLDED = pytest.mark.parametrize("folded", [False, True])


def events(minutes: int = HOUR) -> dict[str, int]:
    return dict(activity(minutes).events)


@FOLDED
def test_every_verb_is_tallied(folded):
    job = make_job()
    release(claimed(job=job), "not now")
    fail(claimed(job=job), "broken")
    age(100)
    fail(claimed(job=job), "broken", fatal=True)
    retry(job.pk)
    complete(claimed(job=job))
    cancel(make_job().pk)
    if folded:
        fold()
    assert events() == {
        "enqueued": 2, "claimed": 4, "released": 1, "retrying": 1, "failed": 1, "requeued": 1, "completed": 1,
        "cancelled": 1,
    }  # fmt: skip


def test_waits_and_runs_are_timed():
    make_job()
    age(30)
    [held] = claim(make_worker())
    age(7)
    complete(held.claim)
    lately = activity()
    assert int(lately.waits.seconds) in (30, 31)
    assert lately.runs.mean == lately.runs.seconds
    assert int(lately.runs.seconds) in (7, 8)
    assert (lately.waits.at(0.5), lately.runs.at(0.99)) == (pytest.approx(35), pytest.approx(9.95))


def test_a_wait_begins_when_the_job_is_due():
    make_job(run_after=database_now() + timedelta(seconds=100))
    age(103)
    claim(make_worker())
    assert int(activity().waits.seconds) in (3, 4)


def test_a_run_begins_when_the_handler_does_and_not_with_the_claim():
    make_job()
    [held] = claim(make_worker(), start=False)
    age(50)
    start(held.claim)
    complete(held.claim)
    assert activity().runs.seconds < 2


def test_queues_are_told_apart_and_so_are_kinds():
    complete(claimed(queue="a", kind="test.noop"))
    complete(claimed(queue="a", kind="test.other", allow_unknown=True))
    fail(claimed(queue="b", kind="test.noop"), "broken", fatal=True)
    by_queue = activity_by_queue()
    assert {queue: (lately.ended, lately.failure_rate) for queue, lately in by_queue.items()} == {
        "a": (2, 0),
        "b": (1, 1),
    }
    fold()
    ended = TotalTally.objects.filter(event="completed").order_by("kind").values_list("queue", "kind", "jobs")
    assert list(ended) == [("a", "test.noop", 1), ("a", "test.other", 1)]


@FOLDED
def test_what_happened_before_the_span_is_not_in_it(folded):
    complete(claimed())
    age(2 * 3600)
    make_job()
    if folded:
        fold()
    assert events(HOUR) == {"enqueued": 1}
    assert events(DAY) == {"enqueued": 2, "claimed": 1, "completed": 1}


@FOLDED
def test_history_has_a_slot_for_every_part_of_the_span(folded):
    job = make_job()
    age(600)
    complete(claimed(job=job))
    if folded:
        fold()
    slots = history(HOUR, 60)
    assert len(slots) == 60
    assert slots[-1].begins <= database_now() < slots[-1].begins + timedelta(minutes=2)
    assert sum(slot.events["enqueued"] for slot in slots) == 1
    assert next(number for number, slot in enumerate(slots) if slot.events["enqueued"]) in (48, 49, 50)
    assert slots[-1].events["completed"] + slots[-2].events["completed"] == 1


def test_folding_twice_into_the_same_minute_adds_up():
    for _ in range(3):
        complete(claimed())
        fold()
    assert events()["completed"] == 3
    assert sum(TotalTally.objects.filter(event="completed").values_list("jobs", flat=True)) == 3


def test_what_is_rolled_back_was_not_tallied():
    with transaction.atomic():
        complete(claimed())
        transaction.set_rollback(True)
    assert events() == {}


def test_pruning_and_clearing_jobs_leaves_the_history(settings):
    complete(claimed())
    clear(Job.objects.get().pk)
    make_job()
    assert events()["completed"] == 1
    settings.JOBS_RETENTION_STATISTICS = 3600
    fold()
    age(7200)
    prune_once()
    assert not MinuteTally.objects.exists()
    assert TotalTally.objects.get(event="completed").jobs == 1


def test_a_batch_costs_one_statement_for_counts_and_tallies():
    for number in range(20):
        make_job(kind=("test.noop", "test.other")[number % 2], allow_unknown=True)
    held = claim(make_worker(), limit=20)
    with sent_in_full(), CaptureQueriesContext(connection) as statements:
        finish([Outcome.completed(job.claim) for job in held])
    assert len([query for query in statements if "queuedelta" in query["sql"].lower()]) == 1


def test_time_to_empty_needs_more_to_go_out_than_comes_in():
    lately = activity()
    lately.minutes = 10
    lately.events.update(enqueued=50, completed=100)
    assert lately.minutes_to_empty(25) == 5
    assert lately.minutes_to_empty(0) == 0
    lately.events.update(enqueued=50)
    assert lately.minutes_to_empty(25) is None
    assert activity().failure_rate is None
