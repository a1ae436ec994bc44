"""Several worker processes on one database, and one that loses its connections."""

import signal

import pytest

from jobs import NewJob, enqueue_many
from jobs.models import Job
from jobs.states import PhaseStatus, Status
from tests.concurrency.threads import scalar
from tests.factories import kept_counts, real_counts, reload
from tests.worker.stage import Stage

pytestmark = pytest.mark.django_db(transaction=True)
OTHERS = "FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"


def test_workers_that_share_a_database_run_each_job_once(stage: Stage):
    workers = [stage.worker() for _ in range(3)]
    first = [stage.add("app.long") for _ in workers]
    stage.wait_for(lambda: len(stage.history("start")) == 3)  # each has one, and none is late for the rest
    payload = {"history": str(stage.history_file), "gate": ""}
    short = NewJob("app.short", payload, allow_unknown=True)
    jobs = [*first, *enqueue_many(short for _ in range(100)).created]
    stage.open_gate()
    stage.wait_for(lambda: not Job.objects.exclude(status=Status.COMPLETED).exists(), seconds=120)
    for worker in workers:
        worker.send(signal.SIGTERM)
        assert worker.exit_code() == 0
    assert sorted(line.job for line in stage.history("start")) == jobs
    assert sorted(line.job for line in stage.history("end")) == jobs
    assert set(Job.objects.values_list("last_worker_id", flat=True)) == {worker.row().pk for worker in workers}
    assert set(Job.objects.values_list("attempt", "crashes")) == {(1, 0)}
    assert kept_counts() == real_counts()
    assert "database is locked" not in stage.logs()
    assert "Traceback" not in stage.logs()


@pytest.mark.postgres
def test_a_worker_whose_connections_are_cut_goes_on_and_loses_nothing(stage: Stage):
    worker = stage.worker()
    stage.wait_for(lambda: scalar(f"SELECT count(*) {OTHERS}") >= 2)  # the claiming one, and that of a helper
    assert scalar(f"SELECT count(pg_terminate_backend(pid)) {OTHERS}") >= 2  # others may have come meanwhile
    after_idling, while_running = stage.add("app.short"), stage.add("app.phased")
    assert stage.wait_for_end(after_idling).attempt == 1
    stage.wait_for(lambda: stage.history("second"))
    assert scalar(f"SELECT count(pg_terminate_backend(pid)) {OTHERS}") >= 1
    stage.open_gate()
    job = stage.wait_for_end(while_running)
    assert (job.status, job.attempt, job.crashes) == (Status.COMPLETED, 1, 0)
    assert {phase.shown_status for phase in job.phases.all()} == {PhaseStatus.COMPLETED}
    assert reload(after_idling).status == Status.COMPLETED
    assert worker.process.poll() is None
    assert "Traceback" not in stage.logs()
