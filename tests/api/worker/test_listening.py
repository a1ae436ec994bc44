"""Hints for remote workers: where there is work; nothing is taken, and nobody waits who need not."""

import pytest

from jobs.lifecycle.queues import pause as pause_queue
from tests.api.worker.calls import Machine, machine
from tests.factories import make_job

pytestmark = pytest.mark.django_db


def heard(worker: Machine, **told: object) -> list[str]:
    answer = worker.post("listen", {"queues": [], "wait": 0, **told})
    assert answer.status_code == 200
    return list(answer.json()["queues"])


def test_queues_with_work_are_named_and_nothing_is_taken():
    job = make_job(queue="media")
    make_job(queue="mail")
    worker = machine()
    assert heard(worker) == ["mail", "media"]
    assert heard(worker, queues=["media", "other"]) == ["media"]
    job.refresh_from_db()
    assert job.status == "pending"


def test_where_there_is_none_or_nobody_may_take_it_nothing_is_heard():
    make_job(queue="mail")
    pause_queue("mail")
    worker = machine()
    assert heard(worker) == heard(worker, queues=["mail"]) == []


def test_a_queue_that_cannot_be_is_refused():
    assert machine().post("listen", {"queues": ["a b"]}).status_code == 422
