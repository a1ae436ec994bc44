"""Whoever enqueues dies right after its commit, before it could wake anybody."""

import pytest

from jobs.models import Job
from jobs.states import Status
from tests.dispatch.fixtures import redis_server
from tests.manage import manage
from tests.redis_server import RedisServer
from tests.worker.stage import Stage

__all__ = ["redis_server"]
pytestmark = [pytest.mark.once, pytest.mark.django_db(transaction=True)]
ENQUEUE = """
import os
from django.db import transaction
from jobs import enqueue
with transaction.atomic():
    transaction.on_commit(lambda: os._exit(7))  # what is said to Redis comes after it
    enqueue("app.short", {{"history": {history!r}, "gate": ""}})
"""


def test_polling_finds_a_job_that_nobody_was_woken_for(stage: Stage, redis_server: RedisServer):
    env = {"JOBS_DISPATCH": "redis", "JOBS_REDIS_URL": redis_server.url}
    enqueue = ENQUEUE.format(history=str(stage.history_file))
    died = manage("shell", "-c", enqueue, DJANGO_SETTINGS_MODULE="tests.settings", **env)
    assert died.returncode == 7, died.stderr
    with redis_server.client() as client:
        assert client.keys("*wake*") == []
    job = Job.objects.get()
    stage.worker(JOBS_DISPATCH="redis", JOBS_REDIS_URL=redis_server.url)
    assert stage.wait_for_end(job.pk).status == Status.COMPLETED
