"""Workers of an old and of a new release share a queue while one after the other is replaced."""

import signal
from collections import Counter

import pytest

from jobs.models import Job, Worker
from jobs.states import TERMINAL, Status
from tests.worker.checker import check
from tests.worker.stage import Stage

pytestmark = [pytest.mark.postgres, pytest.mark.django_db(transaction=True)]
OF_EACH = 20


def test_no_job_is_lost_or_done_twice_while_workers_are_replaced(stage: Stage):
    """What the old ones do not know they fail, in clear words, and leave to the new ones."""
    old = [stage.worker(), stage.worker()]
    for _ in range(OF_EACH):
        stage.add("app.short")
        stage.add("newer.short", max_attempts=50, backoff="fixed:0.3:1")
    refused = Job.objects.filter(kind="newer.short").exclude(last_error="")
    stage.wait_for(refused.exists)
    stage.wait_for(lambda: Worker.objects.count() == len(old))  # one that still starts would not hear a signal
    assert all("newer.short" in error for error in refused.values_list("last_error", flat=True))
    for worker in old:
        stage.worker(TEST_APPS="tests.newer_app")
        worker.send(signal.SIGTERM)
        assert worker.exit_code() == 0
    stage.wait_for(lambda: not Job.objects.exclude(status__in=TERMINAL).exists())
    assert Counter(Job.objects.values_list("kind", "status")) == {
        ("app.short", Status.COMPLETED): OF_EACH, ("newer.short", Status.COMPLETED): OF_EACH,
    }  # fmt: skip
    assert Counter(line.job for line in stage.history("end")) == Counter(Job.objects.values_list("pk", flat=True))
    check(stage.history())
