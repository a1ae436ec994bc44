"""No clock but the database's decides anything shared, and no transaction is open while a handler runs."""

from typing import Any

import pytest
from django.db import connection

from jobs.models import Worker
from jobs.states import Status, WorkerStatus
from tests.factories import reload
from tests.worker.stage import Stage

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.mark.parametrize("off", ["600", "-600"])
def test_a_worker_whose_clock_is_ten_minutes_off_works_and_judges_as_all_do(stage: Stage, off: str):
    """It reaps, too: a job that another worker holds stays with that one, through several heartbeats of both."""
    held = stage.add("app.long")
    holder = stage.worker()
    stage.wait_for_start(held)
    strange = stage.worker(
        reaps=True, TEST_APPS="tests.wrong_clock", CLOCK_IS_OFF=off, JOBS_REAP_INTERVAL="0.1", JOBS_POLL_INTERVAL="0.05"
    )
    mine = [stage.add("app.short") for _ in range(3)]
    for job_id in mine:
        assert stage.wait_for_end(job_id).status == Status.COMPLETED
    beats = {Worker.objects.get(pid=worker.pid).last_heartbeat for worker in (holder, strange)}
    stage.wait_for(lambda: not beats & {holder.row().last_heartbeat, strange.row().last_heartbeat})
    assert (reload(held).status, reload(held).worker_id) == (Status.RUNNING, holder.row().pk)
    assert {holder.row().status, strange.row().status} == {WorkerStatus.BUSY, WorkerStatus.IDLE}


@pytest.mark.postgres
def test_no_transaction_is_open_while_a_handler_runs(stage: Stage):
    job_id = stage.add("app.long")
    worker = stage.worker()
    stage.wait_for_start(job_id)
    beat = worker.row().last_heartbeat
    stage.wait_for(lambda: worker.row().last_heartbeat != beat)
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(*) FILTER (WHERE state LIKE 'idle in transaction%%'), count(*) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid()"
            " AND (xact_start IS NULL OR now() - xact_start > interval '0.3 s')"
        )
        open_transactions, sessions = cursor.fetchone()
    assert (open_transactions, sessions > 0) == (0, True)


@pytest.mark.parametrize("off", [{"reaps": False}, {"reaps": True, "JOBS_REAP_INTERVAL": "0"}], ids=["flag", "setting"])
def test_a_worker_without_a_reaper_takes_nothing_back(stage: Stage, off: dict[str, Any]):
    job_id = stage.add("app.long", max_attempts=3)
    dead = stage.worker()
    stage.wait_for_start(job_id)
    dead.process.kill()
    dead.exit_code()
    other = stage.worker(**off)
    assert stage.wait_for_end(stage.add("app.short")).status == Status.COMPLETED
    beat = other.row().last_heartbeat
    stage.wait_for(lambda: other.row().last_heartbeat != beat)
    assert (reload(job_id).status, reload(job_id).attempt) == (Status.RUNNING, 1)
