"""The database is away while jobs run: handlers go on, outcomes wait, and what must not run on does not."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
import pytest
from django.db import connection

from jobs.lifecycle.reap import reap_once
from jobs.states import Status, WorkerStatus
from tests.concurrency.threads import scalar
from tests.factories import events_of, reload
from tests.worker.checker import check
from tests.worker.stage import Stage

pytestmark = [pytest.mark.postgres, pytest.mark.django_db(transaction=True)]
NOBODY = "postgres://nobody@127.0.0.1:9/nothing"
OTHERS = "FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"


@contextmanager
def outage() -> Iterator[None]:
    """Nobody but this test reaches the database: connections are cut, and new ones refused."""
    name = connection.settings_dict["NAME"]
    parameters = {**connection.get_connection_params(), "dbname": "postgres", "cursor_factory": psycopg.Cursor}
    parameters.pop("context", None)
    with psycopg.connect(**parameters, autocommit=True) as server:
        server.execute(f'ALTER DATABASE "{name}" WITH ALLOW_CONNECTIONS false')
        try:
            scalar(f"SELECT count(pg_terminate_backend(pid)) {OTHERS}")
            yield
        finally:
            server.execute(f'ALTER DATABASE "{name}" WITH ALLOW_CONNECTIONS true')


def test_a_job_that_ends_during_an_outage_is_completed_after_it(stage: Stage):
    job_id = stage.add("app.long", max_attempts=1)
    stage.worker()
    stage.wait_for_start(job_id)
    with outage():
        stage.open_gate()
        stage.wait_for(lambda: stage.history("end"))
        stage.wait_for(lambda: "queue unavailable" in stage.logs())
        assert reload(job_id).status == Status.RUNNING
    job = stage.wait_for_end(job_id)
    assert (job.status, job.attempt, job.result) == (Status.COMPLETED, 1, "done")
    check(stage.history())


@pytest.mark.parametrize("told", [[], ["--max-minutes", "0.01"]])
def test_a_worker_that_never_got_an_answer_exits_with_1_and_says_why(stage: Stage, told: list[str]):
    worker = stage.worker(*told, DATABASE_URL=NOBODY)
    stage.wait_for(lambda: "queue unavailable" in stage.logs())
    if not told:
        worker.send(signal.SIGTERM)
    assert worker.exit_code() == 1
    last = stage.logs().splitlines()[-1]
    assert last.startswith("CommandError: The queue never answered, so that this worker did nothing at all: ")
    assert "port 9 failed" in last
    assert "could not sign off" not in stage.logs()


def test_a_worker_that_has_nothing_to_tell_exits_with_0_also_during_an_outage(stage: Stage):
    worker = stage.worker()
    stage.wait_for(lambda: "worker online" in stage.logs())
    stage.wait_for(lambda: worker.row().status == WorkerStatus.IDLE)
    with outage():
        stage.wait_for(lambda: "failed error=" in stage.logs() or "queue unavailable" in stage.logs())
        worker.send(signal.SIGTERM)
        assert worker.exit_code() == 0
    assert " done: 0 attempts" in stage.logs().splitlines()[-1]


def test_an_exclusive_job_is_stopped_before_its_lease_ends_and_another_goes_on(stage: Stage):
    exclusive, other = stage.add("app.exclusive", max_attempts=1), stage.add("app.long", max_attempts=1)
    stage.worker("--processes", "2")
    stage.wait_for_start(exclusive)
    stage.wait_for_start(other)
    with outage():
        stage.wait_for(lambda: scalar("SELECT lease_expires_at < clock_timestamp() FROM jobs_job WHERE id = %s", other))
        stage.open_gate()
        stage.wait_for(lambda: stage.history("end"))
    assert [line.job for line in stage.history("end")] == [other]  # the exclusive one was not there any more to see it
    assert stage.wait_for_end(other).status == Status.COMPLETED
    job = stage.wait_for_end(exclusive)
    assert (job.status, job.attempt) == (Status.COMPLETED, 1)
    assert events_of(exclusive) == ["enqueued", "claimed", "released", "claimed", "completed"]
    check(stage.history())


def test_a_claim_that_was_lost_during_an_outage_is_given_up(stage: Stage):
    job_id = stage.add("app.chatty", max_attempts=2)
    stage.worker()
    line = stage.wait_for_start(job_id)
    with outage():
        stage.wait_for(lambda: reap_once().requeued == [job_id])
    stage.wait_for(lambda: len(stage.history("start")) == 2)  # the worker stopped the first, and claimed it again
    assert "claim lost" in stage.logs()
    assert stage.history("start")[1].claim != line.claim
    check(stage.history())


def test_an_exclusive_job_stops_in_time_though_its_supervisor_is_frozen(stage: Stage, settings):
    settings.JOBS_CLAIM_DURATION = 4
    job_id = stage.add("app.exclusive", max_attempts=1)
    worker = stage.worker()
    stage.wait_for_start(job_id)
    worker.send(signal.SIGSTOP)
    stage.wait_for(lambda: stage.history("stopped"))
    assert scalar("SELECT lease_expires_at > clock_timestamp() FROM jobs_job WHERE id = %s", job_id)
    stage.open_gate()
    worker.send(signal.SIGCONT)
    job = stage.wait_for_end(job_id)
    assert (job.status, job.attempt) == (Status.COMPLETED, 1)
    assert [line.what for line in stage.history()] == ["start", "stopped", "start", "end"]
    check(stage.history())
