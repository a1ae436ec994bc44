"""Hints over Redis: one for each job, by priority, after the commit; streams stay short; progress is published."""

import json

import pytest
from django.db import transaction

from jobs.dispatch import hints
from jobs.handlers.base import PhaseReport, QualityReport, Report
from jobs.lifecycle.enqueue import enqueue
from jobs.lifecycle.enqueue_many import enqueue_many
from jobs.lifecycle.new_job import NewJob
from jobs.lifecycle.queues import pause, resume
from jobs.lifecycle.report import report
from jobs.models import Job
from jobs.states import PhaseStatus
from tests.concurrency.threads import rolled_back
from tests.factories import claimed

pytestmark = [pytest.mark.once, pytest.mark.django_db(transaction=True)]


def sent(server) -> dict[str, list[str]]:
    with server.client() as client:
        streams = {level: client.xrange(hints.stream(level)) for level in hints.LEVELS}
        return {level: [fields["queue"] for _, fields in entries] for level, entries in streams.items() if entries}


def test_each_job_is_one_hint_in_the_stream_of_its_priority(redis_server):
    enqueue_many(NewJob("test.noop", queue="q", priority=priority) for priority in (0, 5, -5, 0))
    assert sent(redis_server) == {"high": ["q"], "normal": ["q", "q"], "low": ["q"]}


def test_nothing_is_sent_before_the_commit_nor_for_what_is_rolled_back(redis_server):
    with rolled_back():
        enqueue("test.noop")
    with transaction.atomic():
        enqueue("test.noop", queue="q")
        assert sent(redis_server) == {}
    assert sent(redis_server) == {"normal": ["q"]}


def test_a_job_is_enqueued_though_redis_is_gone(redis_server):
    redis_server.kill()
    for _ in range(5):
        enqueue("test.noop")
    assert Job.objects.count() == 5


def test_many_jobs_send_no_more_hints_than_there_could_be_workers_and_streams_are_trimmed(redis_server, monkeypatch):
    monkeypatch.setattr(hints, "LONGEST", 500)
    for _ in range(8):
        enqueue_many(NewJob("test.noop") for _ in range(300))
    assert Job.objects.count() == 2400
    assert 500 <= len(sent(redis_server)["normal"]) <= 700  # about: Redis trims by whole nodes


def test_a_resumed_queue_wakes_many(redis_server):
    pause("q")
    resume("q")
    assert sent(redis_server) == {"normal": ["q"] * hints.MOST}


@pytest.mark.parametrize("dispatch", ["auto", "polling", "postgres"])
def test_other_settings_send_nothing(redis_server, settings, dispatch):
    settings.JOBS_DISPATCH = dispatch
    enqueue("test.noop")
    assert sent(redis_server) == {}


def test_the_prefix_keeps_projects_apart(redis_server, settings):
    settings.JOBS_REDIS_PREFIX = "shop"
    enqueue("test.noop")
    with redis_server.client() as client:
        assert client.keys() == ["shop:wake:normal"]


def test_workers_that_would_claim_the_same_are_a_group():
    assert hints.group_of(["a", "b"], False) == hints.group_of(["b", "a", "a"], False)
    others = [(["a"], False), (["a", "b"], True), ([], False), (["a\nb"], False)]
    assert hints.group_of(["a", "b"], False) not in {hints.group_of(*other) for other in others}


def test_stored_progress_is_published_and_what_is_refused_is_not(redis_server):
    ref = claimed()
    with redis_server.client() as client, client.pubsub() as ear:
        ear.psubscribe("jobyard:progress:*")
        assert ear.get_message(timeout=20)["type"] == "psubscribe"
        with rolled_back():
            report(Report(ref, progress=1))
        report(
            Report(
                ref, progress=42, step="encode", checkpoint={"secret": 1},
                phases=[PhaseReport("encode", 0, PhaseStatus.RUNNING, progress=40)],
                qualities=[QualityReport("720p", progress=39)],
            )
        )  # fmt: skip
        message = ear.get_message(timeout=20)
    assert message["channel"] == f"jobyard:progress:{ref.job_id}"
    told = json.loads(message["data"])
    assert (told["job"], told["progress"], told["step"]) == (ref.job_id, 42, "encode")
    assert told["qualities"]["720p"]["progress"] == 39
    assert "secret" not in message["data"]
