"""Wake-ups: one per queue and transaction, for what can be claimed now, and only once it is committed."""

from collections.abc import Iterator
from datetime import timedelta

import psycopg
import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext

from jobs.handlers.base import Outcome, Spawn
from jobs.lifecycle import wake_up
from jobs.lifecycle.cancel import cancel
from jobs.lifecycle.claim import claim
from jobs.lifecycle.enqueue import enqueue
from jobs.lifecycle.enqueue_many import enqueue_many
from jobs.lifecycle.finish import finish_one
from jobs.lifecycle.new_job import NewJob
from jobs.lifecycle.queues import pause, resume
from jobs.lifecycle.reap import reap_once
from jobs.lifecycle.retry import retry
from jobs.lifecycle.spawn import spawn
from jobs.selectors.clock import database_now
from tests.concurrency.threads import rolled_back
from tests.factories import age, claimed, make_job, make_worker

pytestmark = [pytest.mark.postgres, pytest.mark.django_db(transaction=True)]
END = "the end"  # what comes before it was sent before it


class Ear:
    def __init__(self, listening: psycopg.Connection) -> None:
        self.listening = listening

    def heard(self) -> list[str]:
        """What was sent since the last time."""
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_notify(%s, %s)", [wake_up.CHANNEL, END])
        told: list[str] = []
        for notice in self.listening.notifies(timeout=20):
            if notice.payload == END:
                break
            told.append(notice.payload)
        return told


@pytest.fixture
def ear() -> Iterator[Ear]:
    parameters = {**connection.get_connection_params(), "cursor_factory": psycopg.Cursor, "autocommit": True}
    parameters.pop("context", None)
    with psycopg.connect(**parameters) as listening:
        listening.execute(f"LISTEN {wake_up.CHANNEL}")
        yield Ear(listening)


def test_a_job_that_is_due_wakes_its_queue(ear):
    enqueue("test.noop", queue="a")
    assert ear.heard() == ["a"]


def test_what_is_rolled_back_wakes_nobody(ear):
    with rolled_back():
        enqueue("test.noop")
    assert ear.heard() == []


def test_many_jobs_wake_each_queue_once_by_one_statement(ear):
    with CaptureQueriesContext(connection) as queries:
        enqueue_many(NewJob("test.noop", queue=queue) for queue in "abab")
    assert ear.heard() == ["a", "b"]
    assert len([query for query in queries if "pg_notify" in query["sql"]]) == 1


def test_several_calls_in_one_transaction_wake_once(ear):
    with transaction.atomic():
        enqueue("test.noop")
        enqueue("test.noop")
    assert ear.heard() == ["default"]


def test_what_is_scheduled_or_met_wakes_nobody(ear):
    enqueue("test.noop", run_after=database_now() + timedelta(hours=1))
    assert ear.heard() == []
    make_job(dedupe_key="k")
    assert ear.heard() == ["default"]
    assert not enqueue("test.noop", dedupe_key="k").created
    assert ear.heard() == []


@pytest.mark.parametrize(("seconds", "heard"), [(10, ["q"]), (50, ["q"]), (70, [])])
def test_what_is_due_before_a_worker_looks_by_itself_wakes_it_so_that_it_knows(ear, seconds, heard):
    enqueue("test.noop", queue="q", run_after=database_now() + timedelta(seconds=seconds))
    assert ear.heard() == heard
    ref = claimed(make_worker(), make_job(queue="q"))
    ear.heard()
    finish_one(Outcome.failed(ref, "broken", retry_after=seconds))
    assert ear.heard() == heard


def test_a_job_that_is_handed_back_wakes_and_one_that_waits_or_ends_does_not(ear):
    worker = make_worker()
    ref = claimed(worker, queue="q")
    ear.heard()
    finish_one(Outcome.released(ref, "shutting down"))
    assert ear.heard() == ["q"]
    [again] = claim(worker)
    finish_one(Outcome.failed(again.claim, "broken", retry_after=3600))
    assert ear.heard() == []
    cancel(ref.job_id)
    assert ear.heard() == []
    retry(ref.job_id)
    assert ear.heard() == ["q"]


def test_a_job_that_waits_for_others_wakes_nobody(ear):
    ref = claimed(queue="q")
    spawn(ref, [Spawn("test.noop", {}, "a", {"queue": "child"})])
    ear.heard()
    finish_one(Outcome.waiting(ref, None))
    assert ear.heard() == []


def test_what_the_reaper_takes_back_wakes(ear):
    claimed(queue="q")
    age(300)
    ear.heard()
    assert reap_once().jobs == 1
    assert ear.heard() == ["q"]


def test_a_queue_that_is_resumed_wakes(ear):
    assert not resume("q")
    pause("q")
    assert ear.heard() == []
    resume("q")
    assert ear.heard() == ["q"]


def test_what_a_claim_locked_and_left_is_told_to_others(ear, kind):
    for _ in range(2):
        make_job(kind.name, queue="q")
    worker = make_worker(slots=5)
    ear.heard()
    assert len(claim(worker, limit=5, isolated_kinds=[kind.name], isolated_limit=1)) == 1
    assert ear.heard() == ["q"]


def test_a_worker_without_room_wakes_nobody_or_two_would_wake_each_other_for_ever(ear, kind):
    make_job(kind.name)
    worker = make_worker()
    ear.heard()
    assert not claim(worker, isolated_kinds=[kind.name], isolated_limit=0)
    assert not claim(worker, ["default"], isolated_kinds=[kind.name], isolated_limit=0)
    assert ear.heard() == []


@pytest.mark.parametrize(("dispatch", "heard"), [("postgres", 1), ("hybrid", 0), ("redis", 0), ("polling", 0)])
def test_the_setting_says_whether_they_are_sent(ear, settings, dispatch, heard):
    settings.JOBS_DISPATCH = dispatch
    enqueue("test.noop")
    assert len(ear.heard()) == heard
