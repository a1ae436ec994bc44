"""Enqueue: what is stored of a job, where its options come from, and that it lives in the caller's transaction."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import transaction

from jobs.exceptions import InvalidInput, UnknownKind
from jobs.handlers.registry import Kind
from jobs.lifecycle.enqueue import enqueue
from jobs.lifecycle.enqueue_many import enqueue_many
from jobs.lifecycle.new_job import NewJob
from jobs.models import Job, JobEvent, QueueDelta
from jobs.selectors.clock import database_now
from jobs.states import Accelerator, Hold, Status
from tests.factories import events_of, make_job


def test_a_new_job_is_pending_and_due_by_the_databases_clock():
    before = database_now() - timedelta(milliseconds=1)
    job = make_job(payload={"month": 5, "name": "Übersicht ✓", "deep": [1, {"a": None}]})
    after = database_now() + timedelta(milliseconds=1)
    assert (job.status, job.hold, job.queue, job.attempt, job.crashes) == (Status.PENDING, Hold.NONE, "default", 0, 0)
    assert before <= job.run_after <= after
    assert before <= job.enqueued_at <= after
    assert job.payload == {"month": 5, "name": "Übersicht ✓", "deep": [1, {"a": None}]}
    assert (job.claim_id, job.worker_id, job.lease_expires_at, job.finished_at) == (None, None, None, None)
    assert events_of(job) == ["enqueued"]


def test_settings_give_the_defaults(settings):
    settings.JOBS_MAX_ATTEMPTS, settings.JOBS_CLAIM_DURATION, settings.JOBS_MAX_RUNTIME = 7, 33, 44
    job = make_job()
    assert job.max_attempts == 7
    assert (job.lease, job.max_runtime) == (timedelta(seconds=33), timedelta(seconds=44))


OPTIONS: dict[str, Any] = {
    "queue": "slow-1.x_y",
    "priority": -100,
    "subject": "films/Łódź.mkv",
    "scope": "library 1",
    "max_attempts": 1000,
    "backoff": "fixed:1:2",
    "webhook_url": "https://example.com/hook",
    "accelerator": "require",
}


def test_every_option_is_stored():
    job = make_job(max_runtime=1.5, **OPTIONS)
    assert {name: getattr(job, name) for name in OPTIONS} == OPTIONS
    assert job.max_runtime == timedelta(seconds=1.5)


def test_what_the_caller_leaves_out_comes_from_the_kind(kind: Kind):
    kind.queue, kind.max_attempts, kind.backoff, kind.lease, kind.max_runtime = "gpu", 9, "linear:2", 300, 60
    kind.accelerator, kind.webhook_url = Accelerator.PREFER, "https://example.com/"
    job = make_job(kind.name)
    assert (job.queue, job.max_attempts, job.backoff) == ("gpu", 9, "linear:2")
    assert (job.lease, job.max_runtime) == (timedelta(seconds=300), timedelta(seconds=60))
    assert (job.accelerator, job.webhook_url) == ("prefer", "https://example.com/")
    own = make_job(kind.name, queue="mine", max_attempts=1, accelerator="", webhook_url="")
    assert (own.queue, own.max_attempts, own.accelerator, own.webhook_url) == ("mine", 1, "", "")


def test_a_job_for_later_waits_outside_the_ready_line():
    later = make_job(run_after=datetime.now(UTC) + timedelta(hours=1))
    assert (later.status, later.hold) == (Status.PENDING, Hold.SCHEDULED)
    past = make_job(run_after=datetime(2020, 1, 1, 3, tzinfo=UTC))
    assert (past.hold, past.run_after) == (Hold.NONE, datetime(2020, 1, 1, 3, tzinfo=UTC))


def test_enqueue_inside_a_rolled_back_transaction_leaves_nothing():
    with transaction.atomic():
        enqueue("test.noop")
        transaction.set_rollback(True)  # the caller changes its mind
    assert not Job.objects.exists()
    assert not JobEvent.objects.exists()
    assert not QueueDelta.objects.exists()


def test_an_unknown_kind_is_refused_with_a_hint():
    with pytest.raises(UnknownKind, match=r"'test.nop'.* Did you mean 'test.noop'\?"):
        enqueue("test.nop")


def test_an_unknown_kind_is_taken_where_its_handler_lives_elsewhere():
    assert make_job("elsewhere.kind", allow_unknown=True).kind == "elsewhere.kind"


def test_a_payload_that_its_handler_would_not_take_is_refused(kind: Kind):
    kind.function = lambda context, month: None
    for misfit in ({"monht": 5}, {}, {"month": 5, "year": 2031}):
        with pytest.raises(InvalidInput, match=f"The payload does not fit the handler of {kind.name!r}"):
            enqueue(kind.name, misfit)
        with pytest.raises(InvalidInput, match="does not fit"):
            enqueue_many([NewJob(kind.name, {"month": 4}), NewJob(kind.name, misfit)])
    assert not Job.objects.exists()
    enqueue(kind.name, {"month": 5})
    enqueue(kind.name, {"monht": 5}, allow_unknown=True)  # the handler is another machine's


def test_an_option_that_does_not_exist_is_named():
    with pytest.raises(InvalidInput, match="prioritee"):
        enqueue("test.noop", prioritee=1)  # type: ignore[call-arg]
