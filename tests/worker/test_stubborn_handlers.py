"""Handlers that hold the interpreter, hear nothing, or take too long: the worker lives on, and so do the others."""

import signal

import pytest

from jobs.lifecycle.cancel import cancel
from jobs.models import Job
from jobs.states import Status
from tests.factories import events_of, reload
from tests.worker.checker import check
from tests.worker.stage import Stage

pytestmark = pytest.mark.django_db(transaction=True)
LEASE = 1.0  # seconds, in these tests


def test_a_handler_that_never_releases_the_interpreter_keeps_its_claim_beyond_the_lease(stage: Stage):
    job_id = stage.add("app.greedy", {"seconds": 2.5 * LEASE}, max_attempts=1)
    worker = stage.worker()
    stage.wait_for_start(job_id)
    beaten = {worker.row().last_heartbeat}

    def beats() -> int:
        beaten.add(worker.row().last_heartbeat)
        return len(beaten)

    stage.wait_for(lambda: beats() >= 4 and not stage.history("end"))  # four beats while it holds the interpreter
    assert stage.wait_for_end(job_id).status == Status.COMPLETED
    assert events_of(job_id) == ["enqueued", "claimed", "completed"]


def test_what_was_fetched_ahead_does_not_wait_for_a_handler_that_never_releases_the_interpreter(stage: Stage):
    for _ in range(60):
        stage.add("app.short")  # so quick that the worker fetches ahead
    greedy, behind = stage.add("app.greedy", {"seconds": 4}), [stage.add("app.short") for _ in range(20)]
    stage.worker("--concurrency", "1", "--until-empty")
    stage.wait_for_start(greedy)
    stage.wait_for(lambda: Job.objects.filter(pk__in=behind, status=Status.PENDING).count() == len(behind))
    assert not [line for line in stage.history("end") if line.job == greedy]
    assert any("released" in events_of(job_id) for job_id in behind)
    assert stage.workers[0].exit_code() == 0
    assert set(Job.objects.values_list("status", "attempt")) == {(Status.COMPLETED, 1)}
    check(stage.history())


@pytest.mark.parametrize("kind", ["app.long", "app.deaf", "app.async", "app.alone"])
def test_an_attempt_that_takes_too_long_fails_whatever_its_handler_does(stage: Stage, kind):
    job_id, fine = stage.add(kind, max_runtime=0.4, max_attempts=1), stage.add("app.short")
    stage.run()
    assert (reload(job_id).status, reload(job_id).last_error) == (Status.FAILED, "Timeout after 0.4 s")
    assert reload(fine).status == Status.COMPLETED
    assert not [line for line in stage.history("end") if line.job == job_id]
    check(stage.history())


def test_a_handler_that_holds_the_interpreter_too_long_is_ended_with_its_process(stage: Stage):
    job_id, fine = stage.add("app.greedy", {"seconds": 20}, max_runtime=1, max_attempts=1), stage.add("app.short")
    stage.run()
    assert (reload(job_id).status, reload(job_id).last_error) == (Status.FAILED, "Timeout after 1 s")
    assert (reload(fine).status, reload(fine).attempt) == (Status.COMPLETED, 1)


def test_an_attempt_that_reports_no_progress_for_too_long_is_ended(stage: Stage):
    job_id = stage.add("app.stalled", max_attempts=1)
    stage.run()
    assert (reload(job_id).status, reload(job_id).last_error) == (Status.FAILED, "No progress for 0.5 s")
    assert [line.what for line in stage.history()] == ["start", "quiet"]


def test_jobs_that_share_a_process_with_one_that_is_killed_are_handed_back(stage: Stage):
    deaf = stage.add("app.deaf", max_runtime=0.4, max_attempts=1, priority=1)
    beside = stage.add("app.long", max_attempts=1)
    stage.worker("--processes", "1", "--concurrency", "2")
    stage.wait_for_start(beside)
    assert stage.wait_for_end(deaf).last_error == "Timeout after 0.4 s"
    stage.open_gate()
    assert (stage.wait_for_end(beside).status, reload(beside).attempt) == (Status.COMPLETED, 1)
    assert "released" in events_of(beside)
    check(stage.history())


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGQUIT])
def test_a_deaf_handler_is_killed_and_its_job_handed_back_when_the_worker_stops(stage: Stage, number):
    job_id = stage.add("app.deaf", max_attempts=1)
    worker = stage.worker(JOBS_SHUTDOWN_TIMEOUT="0.2")
    stage.wait_for_start(job_id)
    worker.send(number)
    assert worker.exit_code() == 0
    assert (reload(job_id).status, reload(job_id).attempt, reload(job_id).crashes) == (Status.PENDING, 0, 0)
    assert events_of(job_id) == ["enqueued", "claimed", "released"]


@pytest.mark.parametrize("arguments", [("--processes", "2"), ("--processes", "1", "--concurrency", "3")])
def test_short_jobs_do_not_wait_behind_a_long_one(stage: Stage, arguments):
    long = stage.add("app.long", priority=1)
    short = [stage.add("app.short") for _ in range(30)]
    stage.worker(*arguments)
    for job_id in short:
        stage.wait_for_end(job_id)
    assert reload(long).status == Status.RUNNING
    stage.open_gate()
    assert stage.wait_for_end(long).attempt == 1
    check(stage.history())


def test_what_waits_behind_a_long_job_in_one_slot_goes_back_uncharged(stage: Stage):
    """Many quick jobs make the worker fetch ahead; then one takes long, and others wait behind it."""
    warm_up = [stage.add("app.short", priority=2) for _ in range(200)]
    long = stage.add("app.long", priority=1)
    behind = [stage.add("app.short") for _ in range(50)]
    worker = stage.worker()
    stage.wait_for_start(long)
    stage.wait_for(lambda: set(Job.objects.filter(pk__in=behind).values_list("status", "attempt")) == {("pending", 0)})
    assert {reload(job_id).status for job_id in warm_up} == {Status.COMPLETED}
    stage.open_gate()
    for job_id in behind:
        assert stage.wait_for_end(job_id).status == Status.COMPLETED
    worker.send(signal.SIGTERM)
    assert worker.exit_code() == 0
    check(stage.history())


def test_an_async_handler_runs_to_its_end_and_can_be_cancelled(stage: Stage):
    first, second = stage.add("app.async"), stage.add("app.async")
    stage.worker("--processes", "1", "--concurrency", "2", "--until-empty")
    stage.wait_for_start(second)
    cancel(second)
    stage.wait_for(lambda: reload(second).cancel_requested_at)
    stage.open_gate()
    assert (stage.wait_for_end(first).status, reload(first).result) == (Status.COMPLETED, "awaited")
    assert stage.wait_for_end(second).status in (Status.CANCELLED, Status.COMPLETED)
