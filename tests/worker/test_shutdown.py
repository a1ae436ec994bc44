"""A worker that is asked to stop: it finishes or hands back what it runs, and exits."""

import signal

import pytest
from django.db import connection, transaction

from jobs.models import Job
from jobs.selectors.clock import database_now
from jobs.states import ShownState, Status, WorkerStatus
from tests.concurrency.threads import scalar
from tests.factories import events_of, reload
from tests.patience import PATIENCE
from tests.webhooks.receiver import running
from tests.worker.stage import Stage, WorkerProcess

pytestmark = pytest.mark.django_db(transaction=True)
CLAIM_AND_HEARTBEAT = 2
AT_ONCE = 10.0  # seconds: generous to a busy machine, and far below what the worker would wait otherwise


def wait_until_online(stage: Stage, worker: WorkerProcess) -> None:
    stage.wait_for(lambda: "worker online" in worker.log.read_text())


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGQUIT, signal.SIGHUP])
def test_an_idle_worker_exits_at_once(stage: Stage, number):
    worker = stage.worker("--poll-interval", "60", JOBS_SHUTDOWN_TIMEOUT="60")
    wait_until_online(stage, worker)
    worker.send(number)
    assert worker.exit_code(AT_ONCE) == 0
    assert worker.row().status == WorkerStatus.OFFLINE


def test_a_running_job_may_finish_and_its_claim_is_renewed_meanwhile(stage: Stage):
    job_id, next_id = stage.add("app.long"), stage.add("app.short")
    worker = stage.worker()
    stage.wait_for_start(job_id)
    worker.send(signal.SIGTERM)
    lease_ends = reload(job_id).lease_expires_at
    assert lease_ends
    # Without heartbeats its claim would be over then, for good.
    stage.wait_for(lambda: database_now() > lease_ends and is_claimed(job_id))
    stage.open_gate()
    assert worker.exit_code() == 0
    assert (reload(job_id).status, reload(job_id).result) == (Status.COMPLETED, "done")
    assert reload(next_id).status == Status.PENDING


def is_claimed(job_id: int) -> bool:
    return Job.objects.in_states([ShownState.CLAIMED]).filter(pk=job_id).exists()


def assert_handed_back(stage: Stage, job_id: int) -> None:
    job = reload(job_id)
    assert (job.status, job.attempt, job.crashes) == (Status.PENDING, 0, 0)
    assert events_of(job_id) == ["enqueued", "claimed", "released"]
    assert not stage.history("end")


def test_a_job_that_takes_too_long_is_handed_back_with_its_attempt(stage: Stage):
    job_id = stage.add("app.long", max_attempts=1)
    worker = stage.worker(JOBS_SHUTDOWN_TIMEOUT="0.5")
    stage.wait_for_start(job_id)
    worker.send(signal.SIGTERM)
    assert worker.exit_code(AT_ONCE) == 0
    assert_handed_back(stage, job_id)


def test_a_second_signal_hands_the_job_back_at_once(stage: Stage):
    job_id = stage.add("app.long")
    worker = stage.worker(JOBS_SHUTDOWN_TIMEOUT="60")
    stage.wait_for_start(job_id)
    worker.send(signal.SIGTERM)
    worker.send(signal.SIGINT)  # not SIGTERM again: two of a kind that come close together count as one
    assert worker.exit_code(AT_ONCE) == 0
    assert_handed_back(stage, job_id)


@pytest.mark.postgres
def test_a_signal_that_comes_during_a_claim_leaves_the_job_unstarted(stage: Stage):
    worker = stage.worker(JOBS_SHUTDOWN_TIMEOUT="60")
    wait_until_online(stage, worker)
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute(f"LOCK TABLE {Job._meta.db_table} IN ACCESS EXCLUSIVE MODE")
        job_id = stage.add("app.long")
        stage.wait_for(lambda: scalar("SELECT count(*) FROM pg_locks WHERE NOT granted") == CLAIM_AND_HEARTBEAT)
        worker.send(signal.SIGTERM)
        stage.wait_for(lambda: not is_pending(worker, signal.SIGTERM))
    assert worker.exit_code(AT_ONCE) == 0
    assert reload(job_id).status == Status.PENDING
    assert reload(job_id).attempt == 0
    assert not stage.history()


def is_pending(worker: WorkerProcess, number: signal.Signals) -> bool:
    """Whether the kernel still holds the signal back, says /proc."""
    with open(f"/proc/{worker.pid}/status") as file:
        masks = [int(line.split()[1], 16) for line in file if line.startswith(("SigPnd", "ShdPnd"))]
    return any(mask >> (number - 1) & 1 for mask in masks)


def test_a_signal_that_comes_when_the_workers_row_is_gone_ends_it_cleanly(stage: Stage):
    worker = stage.worker("--poll-interval", "60", JOBS_HEARTBEAT_INTERVAL="60", JOBS_CLAIM_DURATION="120",
                          JOBS_WORKER_OFFLINE_THRESHOLD="120")  # fmt: skip
    wait_until_online(stage, worker)
    worker.row().delete()
    worker.send(signal.SIGTERM)
    assert worker.exit_code(AT_ONCE) == 0
    assert "Traceback" not in stage.logs()


def test_a_worker_that_waits_for_a_receiver_of_webhooks_exits_when_it_is_told_again(stage: Stage, settings):
    """Also its process: threads that send must not keep it."""
    settings.JOBS_WEBHOOK_ALLOW = "127.0.0.0/8"
    worker = stage.worker(JOBS_WEBHOOK_ALLOW="127.0.0.0/8", JOBS_WEBHOOK_TIMEOUT=f"{3 * PATIENCE}")
    with running() as receiver:
        receiver.answers = [lambda request: receiver.over.wait(3 * PATIENCE)]
        stage.add("app.short", webhook_url=receiver.url())
        stage.wait_for(lambda: receiver.heard)
        worker.send(signal.SIGTERM)
        stage.wait_for(lambda: worker.row().status == WorkerStatus.OFFLINE)
        worker.send(signal.SIGTERM)
        assert worker.exit_code() == 0
