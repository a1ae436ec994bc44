"""Steering the queue over HTTP: one job, many of them, queues, and new jobs."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.test import Client

from jobs.api.queue import bulk
from jobs.exceptions import InvalidInput
from jobs.lifecycle import selection
from jobs.lifecycle.enqueue import enqueue
from jobs.lifecycle.new_job import NewJob
from jobs.models import Job, Queue
from jobs.states import Hold, Status
from tests.api.calls import QUEUE, error_of, post_json
from tests.factories import claimed, job_in, make_job, reload

pytestmark = pytest.mark.django_db


def post(client: Client, address: str, body: Any = None) -> Any:
    answer = post_json(client, QUEUE + address, body)
    assert answer.status_code == 200, answer.content
    return answer.json()


# One job


def test_a_failed_job_is_retried_and_one_that_is_not_is_left_alone(program: Client):
    job = job_in(Status.FAILED)
    told = post(program, f"/jobs/{job.pk}/retry")
    assert (told["done"], told["job"]["state"], told["job"]["attempt"]) == ("retried", "unclaimed", 0)
    assert reload(job).status == Status.PENDING
    assert error_of(post_json(program, f"{QUEUE}/jobs/{job.pk}/retry"), 409) == (
        "conflict", f"Job {job.pk} was left alone, because it is not failed or cancelled.",
    )  # fmt: skip


def test_a_completed_job_is_requeued_from_nothing_and_not_retried(program: Client):
    job = job_in(Status.COMPLETED)
    assert error_of(post_json(program, f"{QUEUE}/jobs/{job.pk}/retry"), 409)[0] == "conflict"
    assert post(program, f"/jobs/{job.pk}/requeue")["done"] == "requeued"
    assert (reload(job).status, reload(job).progress) == (Status.PENDING, 0)


def test_a_job_whose_key_is_taken_is_not_retried(program: Client):
    job = job_in(Status.FAILED, dedupe_key="k")
    make_job(dedupe_key="k")
    _, message = error_of(post_json(program, f"{QUEUE}/jobs/{job.pk}/retry"), 409)
    assert message.endswith("because a job with the same dedupe key is pending or running.")


def test_a_waiting_job_is_cancelled_at_once_and_a_running_one_is_asked_to_stop(program: Client):
    running, waiting = claimed().job_id, make_job().pk
    assert post(program, f"/jobs/{waiting}/cancel")["done"] == "cancelled"
    told = post(program, f"/jobs/{running}/cancel")
    assert (told["done"], told["job"]["status"]) == ("asked to stop", "running")
    for job_id in (running, waiting):
        assert error_of(post_json(program, f"{QUEUE}/jobs/{job_id}/cancel"), 409)[0] == "conflict"


def test_the_priority_of_a_waiting_job_is_set(program: Client):
    job = make_job()
    for priority in (100, -100, -100):
        assert post(program, f"/jobs/{job.pk}/priority", {"priority": priority})["job"]["priority"] == priority
    ended = job_in(Status.CANCELLED)
    _, message = error_of(post_json(program, f"{QUEUE}/jobs/{ended.pk}/priority", {"priority": 1}), 409)
    assert message == f"Job {ended.pk} was left alone, because it is not pending."


# Many jobs


def test_errors_are_retried_in_one_queue_or_in_all(program: Client):
    jobs = [job_in(Status.FAILED, queue=queue) for queue in ("a", "a", "b")]
    others = [job_in(status, queue="c") for status in (Status.CANCELLED, Status.COMPLETED)]
    assert post(program, "/retry-errors", {"queue": "a"}) == {"done": 2, "skipped": {}, "more": False}
    assert [reload(job).status for job in jobs] == ["pending", "pending", "failed"]
    assert post(program, "/retry-errors", "") == {"done": 1, "skipped": {}, "more": False}
    assert [reload(job).status for job in others] == ["cancelled", "completed"]
    assert post(program, "/retry-errors", {}) == {"done": 0, "skipped": {}, "more": False}


def test_what_was_skipped_is_told_with_the_reason(program: Client):
    for key in ("k", "l"):
        job_in(Status.FAILED, dedupe_key=key)
        make_job(dedupe_key=key)
        Job.objects.filter(status=Status.PENDING).update(
            run_after=datetime(2099, 1, 1, tzinfo=UTC), hold=Hold.SCHEDULED
        )
    job_in(Status.FAILED)
    told = post(program, "/retry-errors")
    assert told == {
        "done": 1, "skipped": {"a job with the same dedupe key is pending or running": 2}, "more": False,
    }  # fmt: skip


def test_completed_and_failed_jobs_are_cleared_apart_and_nothing_else_is(program: Client):
    for queue in ("a", "b"):
        for status in reversed(Status):
            job_in(status, queue=queue)
    assert post(program, "/clear-completed", {"queue": "a"}) == {"done": 1, "skipped": {}, "more": False}
    assert post(program, "/clear-errors") == {"done": 2, "skipped": {}, "more": False}
    left = sorted(Job.objects.values_list("queue", "status"))
    assert left == [
        ("a", "cancelled"), ("a", "pending"), ("a", "running"),
        ("b", "cancelled"), ("b", "completed"), ("b", "pending"), ("b", "running"),
    ]  # fmt: skip


def test_many_are_done_batch_by_batch_and_time_that_is_up_is_told(program: Client, monkeypatch: pytest.MonkeyPatch):
    for _ in range(5):
        job_in(Status.FAILED)
    monkeypatch.setattr(bulk, "BATCH", 2)
    monkeypatch.setattr(bulk, "PATIENCE", -1.0)
    assert [post(program, "/clear-errors") for _ in range(3)] == [
        {"done": 2, "skipped": {}, "more": True},
        {"done": 2, "skipped": {}, "more": True},
        {"done": 1, "skipped": {}, "more": False},
    ]
    assert selection.BATCH == 500


# Queues


def test_a_queue_is_paused_with_a_reason_and_resumed(program: Client):
    assert post(program, "/pause", {"queue": "media", "reason": "new disk"}) == {
        "queue": "media", "paused": True, "changed": True,
    }  # fmt: skip
    assert Queue.objects.get().reason == "new disk, by anna"
    assert post(program, "/pause", {"queue": "media"})["changed"] is False
    assert post(program, "/resume", {"queue": "media"}) == {"queue": "media", "paused": False, "changed": True}
    assert post(program, "/resume", {"queue": "media"})["changed"] is False


# New jobs


def test_a_job_is_enqueued_with_all_that_can_be_said(program: Client):
    wish = {
        "kind": "test.noop", "payload": {"deep": [1, {"x": None}]}, "queue": "media", "priority": 7, "subject": "Dune",
        "scope": "films", "dedupe_key": "k", "unique": "ever", "force": True, "run_after": "2099-05-01T12:00:00+02:00",
        "max_attempts": 9, "backoff": "fixed:5", "max_runtime": 60, "webhook_url": "https://example.org/",
        "accelerator": "prefer", "after": [make_job(queue="first").pk], "on_parent_failure": "run",
        "allow_unknown": True,
    }  # fmt: skip
    answer = post_json(program, f"{QUEUE}/enqueue", wish)
    job = Job.objects.get(queue="media")
    assert job.dependencies.get().policy == "run"
    assert (answer.status_code, answer.json()) == (201, {"job_id": job.pk, "created": True})
    assert answer["Location"] == f"{QUEUE}/jobs/{job.pk}"
    assert program.get(answer["Location"]).json()["payload"] == wish["payload"]
    said = {name: getattr(job, name) for name in wish.keys() & {field.name for field in Job._meta.fields}}
    assert said | {"run_after": 0, "max_runtime": 0} == {name: wish[name] for name in said} | {
        "run_after": 0, "max_runtime": 0,
    }  # fmt: skip
    assert (job.run_after, job.max_runtime) == (datetime(2099, 5, 1, 10, tzinfo=UTC), timedelta(seconds=60))
    assert wish.keys() == NewJob.__dataclass_fields__.keys(), "what Python can say, HTTP can say, too"


def test_a_duplicate_is_no_error_and_names_the_job_that_was_met(program: Client):
    wish = {"kind": "test.noop", "payload": {"month": 5}, "unique": "active"}
    first, second = (post_json(program, f"{QUEUE}/enqueue", wish) for _ in range(2))
    assert (first.status_code, second.status_code) == (201, 200)
    assert second.json() == {"job_id": first.json()["job_id"], "created": False}
    assert Job.objects.count() == 1


@pytest.mark.parametrize(
    "wish",
    [
        {"kind": "test.nop"}, {"kind": "a b"}, {"kind": "\x00"}, {"kind": ""}, {"kind": "test.noop", "queue": "a b"},
        {"kind": "test.noop", "priority": 101}, {"kind": "test.noop", "max_attempts": 0},
        {"kind": "test.noop", "subject": "s\x00"}, {"kind": "test.noop", "subject": "\ud800"},
        {"kind": "test.noop", "dedupe_key": ""}, {"kind": "test.noop", "unique": "sometimes"},
        {"kind": "test.noop", "backoff": "never"}, {"kind": "test.noop", "max_runtime": 0.0},
        {"kind": "test.noop", "webhook_url": "ftp://x"}, {"kind": "test.noop", "accelerator": "tpu"},
        {"kind": "test.noop", "payload": {"a": "\x00"}}, {"kind": "test.noop", "payload": {"\ud800": 1}},
        {"kind": "test.noop", "payload": {"a": 2**64}}, {"kind": "test.noop", "payload": {"a": "x" * 1_100_000}},
    ],
    ids=lambda wish: str(list(wish.items())[-1])[:40],
)  # fmt: skip
def test_what_python_refuses_http_refuses_with_the_same_words(program: Client, wish: dict[str, Any]):
    with pytest.raises(InvalidInput) as said:
        enqueue(**wish)
    assert error_of(post_json(program, f"{QUEUE}/enqueue", wish), 422) == ("invalid", str(said.value))
    assert not Job.objects.exists()
