"""A worker behind a pooler in transaction mode: all works but wake-ups, and it leaves nothing in others' sessions."""

import os
import shutil
import signal
from collections.abc import Iterator
from contextlib import ExitStack, closing

import psycopg
import pytest
from django.db import connection

from jobs import NewJob, enqueue_many
from jobs.lifecycle.sql.kept import leads_to_one_session
from jobs.models import Job
from jobs.states import PhaseStatus, Status
from tests.pooler import COMMAND, MISSING, Pooler
from tests.worker.checker import check
from tests.worker.stage import Stage

pytestmark = [pytest.mark.postgres, pytest.mark.django_db(transaction=True)]
JOBS, POOL = 50, 2  # fewer sessions than a worker has connections: they must share


@pytest.fixture
def pooler() -> Iterator[Pooler]:
    if shutil.which(COMMAND) is None:
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(MISSING)
    to = connection.settings_dict
    with Pooler(to["HOST"], str(to["PORT"]), to["USER"], POOL) as pooler:
        yield pooler


def lock_timeouts(url: str) -> set[str]:
    """What strangers find in the sessions of the pool, all of which are taken at once."""
    with ExitStack() as stack:
        found = set()
        for _ in range(POOL):
            stranger = stack.enter_context(psycopg.connect(url, prepare_threshold=None))
            row = stranger.execute("SHOW lock_timeout").fetchone()
            assert row is not None
            found.add(row[0])
        return found


def test_a_pooler_that_nobody_told_of_is_noticed(pooler: Pooler):
    assert leads_to_one_session(connection)
    behind = connection.copy()
    behind.settings_dict = {**connection.settings_dict, "PORT": pooler.port}
    with closing(behind):
        assert not leads_to_one_session(behind)


def test_a_worker_behind_a_transaction_pooler_polls_and_does_its_work(stage: Stage, pooler: Pooler):
    url = pooler.url(str(connection.settings_dict["NAME"]))
    worker = stage.worker("--processes", "2", DATABASE_URL=f"{url}?DISABLE_SERVER_SIDE_CURSORS=True")
    stage.wait_for(lambda: "Notifications do not get through" in stage.logs())
    payload = {"history": str(stage.history_file), "gate": ""}
    enqueue_many(NewJob("app.short", payload, allow_unknown=True) for _ in range(JOBS))
    phased = stage.add("app.phased")
    stage.open_gate()
    stage.wait_for(lambda: Job.objects.filter(status=Status.COMPLETED).count() == JOBS + 1)
    assert lock_timeouts(url) == {"0"}
    worker.send(signal.SIGTERM)
    assert worker.exit_code() == 0
    phases = Job.objects.get(pk=phased).phases.all()
    assert {phase.shown_status for phase in phases} == {PhaseStatus.COMPLETED}
    assert set(Job.objects.values_list("attempt", flat=True)) == {1}
    check(stage.history())
    assert "Traceback" not in stage.logs()
    assert "unavailable" not in stage.logs()
