"""How soon a worker that sleeps learns of work: at once by a wake-up, on time by the clock, and else by polling."""

import signal
from datetime import timedelta

import pytest

from jobs.lifecycle.queues import pause, resume
from jobs.selectors.clock import database_now
from jobs.states import Status
from tests.concurrency.threads import scalar
from tests.factories import reload
from tests.worker.stage import Stage, WorkerProcess

pytestmark = pytest.mark.django_db(transaction=True)
NEVER = ("--poll-interval", "600")  # what starts before is started by something else
LISTENS = "FROM pg_stat_activity WHERE datname = current_database() AND starts_with(query, 'LISTEN')"


def sleeping_worker(stage: Stage) -> WorkerProcess:
    worker = stage.worker(*NEVER)
    stage.wait_for(lambda: "worker online" in worker.log.read_text())
    return worker


@pytest.mark.postgres
def test_a_new_job_wakes_a_worker(stage: Stage):
    sleeping_worker(stage)
    stage.wait_for(lambda: scalar(f"SELECT count(*) {LISTENS}") == 1)
    assert stage.wait_for_end(stage.add("app.short")).status == Status.COMPLETED


@pytest.mark.postgres
def test_a_queue_that_is_resumed_wakes_a_worker(stage: Stage):
    pause("default")
    job_id = stage.add("app.short")
    sleeping_worker(stage)
    stage.wait_for(lambda: scalar(f"SELECT count(*) {LISTENS}") == 1)
    assert reload(job_id).status == Status.PENDING
    resume("default")
    assert stage.wait_for_end(job_id).status == Status.COMPLETED


@pytest.mark.postgres
def test_a_worker_that_lost_its_ear_listens_again_and_hears_what_it_missed(stage: Stage):
    sleeping_worker(stage)
    stage.wait_for(lambda: scalar(f"SELECT count(*) {LISTENS}") == 1)
    scalar(f"SELECT count(pg_terminate_backend(pid)) {LISTENS}")
    assert stage.wait_for_end(stage.add("app.short")).status == Status.COMPLETED
    stage.wait_for(lambda: scalar(f"SELECT count(*) {LISTENS}") == 1)
    assert "Traceback" not in stage.logs()


def test_a_scheduled_job_is_started_when_it_is_due_though_nothing_says_so(stage: Stage):
    due = database_now() + timedelta(seconds=3)
    job_id = stage.add("app.short", run_after=due)
    sleeping_worker(stage)
    job = stage.wait_for_end(job_id)
    assert job.started_at
    assert job.started_at >= due


@pytest.mark.postgres
def test_without_wake_ups_a_worker_polls(stage: Stage):
    worker = stage.worker(JOBS_DISPATCH="polling")
    stage.wait_for(lambda: "worker online" in worker.log.read_text())
    assert stage.wait_for_end(stage.add("app.short")).status == Status.COMPLETED
    assert scalar(f"SELECT count(*) {LISTENS}") == 0


def test_a_job_that_fails_and_may_be_tried_at_once_is(stage: Stage):
    job_id = stage.add("app.flaky", {"works_at": 3}, max_attempts=3)
    worker = sleeping_worker(stage)
    assert stage.wait_for_end(job_id).attempt == 3
    worker.send(signal.SIGTERM)
    assert worker.exit_code() == 0
