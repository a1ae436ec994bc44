"""Workers that die or freeze: their jobs run again, end once, and a worker that comes back does no harm."""

import json
import os
import signal

import pytest

from jobs.lifecycle.reap import reap_once
from jobs.models import Job, Worker
from jobs.process_identity import read_stat
from jobs.states import PhaseStatus, Status, WorkerStatus
from tests.factories import events_of, reload
from tests.manage import manage
from tests.worker.stage import SHORT, Stage, WorkerProcess, is_alive, thaw

pytestmark = pytest.mark.django_db(transaction=True)


def kill(worker: WorkerProcess) -> None:
    worker.send(signal.SIGKILL)
    assert worker.exit_code() == -signal.SIGKILL


def test_a_killed_workers_job_is_reaped_at_once_and_resumed_from_its_checkpoint_by_another(stage: Stage):
    job_id = stage.add("app.resuming")
    worker = stage.worker()
    stage.wait_for_start(job_id)
    kill(worker)
    reaped = json.loads(manage("reap_stale", "--json", **SHORT).stdout)
    assert (reaped["requeued"], len(reaped["workers_offline"])) == ([job_id], 1)
    assert (reload(job_id).status, reload(job_id).attempt, reload(job_id).crashes) == (Status.PENDING, 1, 1)
    assert "was lost with worker" in reload(job_id).last_error
    stage.open_gate()
    stage.run()
    job = reload(job_id)
    assert (job.status, job.attempt, job.crashes, job.result) == (Status.COMPLETED, 2, 1, {"read": 4711})
    assert events_of(job_id)[-4:] == ["claimed", "reaped", "claimed", "completed"]


def test_phases_that_were_finished_are_not_run_again_after_a_crash(stage: Stage):
    job_id = stage.add("app.phased")
    worker = stage.worker()
    stage.wait_for(lambda: stage.history("second"))
    kill(worker)
    assert reap_once().requeued == [job_id]
    shown = {phase.name: phase.shown_status for phase in reload(job_id).phases.all()}
    assert shown == {"first": PhaseStatus.COMPLETED, "second": "interrupted", "third": PhaseStatus.PENDING}
    stage.open_gate()
    stage.run()
    executed = [(line.what, line.attempt) for line in stage.history()]
    assert executed == [("first", 1), ("second", 1), ("second", 2), ("third", 2)]
    assert reload(job_id).result == "of the first, and the second, and the third"
    assert {phase.shown_status for phase in reload(job_id).phases.all()} == {PhaseStatus.COMPLETED}


def test_a_worker_killed_while_it_stops_loses_nothing(stage: Stage):
    job_id = stage.add("app.long")
    worker = stage.worker()
    stage.wait_for_start(job_id)
    worker.send(signal.SIGTERM)
    kill(worker)
    assert reap_once().requeued == [job_id]
    assert (reload(job_id).status, reload(job_id).attempt) == (Status.PENDING, 1)


def test_a_worker_under_the_same_name_is_a_new_one_and_reaps_the_old_ones_claims_before_it_works(stage: Stage):
    job_id = stage.add("app.long")
    old = stage.worker("--name", "twin")
    stage.wait_for_start(job_id)
    kill(old)
    stage.open_gate()
    new = stage.run("--name", "twin", reaps=True)
    assert (reload(job_id).status, reload(job_id).attempt, reload(job_id).crashes) == (Status.COMPLETED, 2, 1)
    assert reload(job_id).last_worker_id == new.row().pk != old.row().pk
    assert list(Worker.objects.values_list("name", "status")) == [("twin", WorkerStatus.OFFLINE)] * 2


def test_jobs_with_one_attempt_that_never_ran_do_not_fail_when_their_worker_is_killed(stage: Stage):
    for _ in range(200):  # many quick ones make the worker fetch ahead
        stage.add("app.short", priority=2)
    long = stage.add("app.long", max_attempts=1, priority=1)
    behind = [stage.add("app.short", max_attempts=1) for _ in range(30)]
    worker = stage.worker()
    stage.wait_for_start(long)
    kill(worker)
    reap_once()
    assert reload(long).status == Status.FAILED
    assert {(reload(job).status, reload(job).attempt) for job in behind} == {(Status.PENDING, 0)}


def test_a_job_that_kills_its_process_every_time_fails_and_the_jobs_beside_it_finish(stage: Stage):
    poison = stage.add("app.poison", max_attempts=2, priority=1)
    beside = [stage.add("app.short", max_attempts=1) for _ in range(20)]
    stage.run()
    job = reload(poison)
    assert (job.status, job.attempt, job.crashes) == (Status.FAILED, 2, 2)
    assert job.last_error == "Attempt 2 of 2: its process was killed by SIGKILL."
    assert events_of(poison) == ["enqueued", "claimed", "reaped", "claimed", "failed"]
    assert {(reload(job).status, reload(job).attempt, reload(job).crashes) for job in beside} == {("completed", 1, 0)}
    assert len([line for line in stage.history("start") if line.job == poison]) == 2


def test_a_job_that_has_crashed_before_runs_alone_in_a_process_of_its_own(stage: Stage):
    poison = stage.add("app.poison", max_attempts=3, priority=1)
    beside = stage.add("app.short")
    stage.run()
    pids = {line.attempt: line.pid for line in stage.history("start") if line.job == poison}
    assert len(set(pids.values())) == 3
    assert {line.pid for line in stage.history("start") if line.job == beside}.isdisjoint(pids.values())


def test_children_that_die_again_and_again_end_the_worker_with_a_clear_word(stage: Stage):
    jobs = [stage.add("app.poison", max_attempts=1) for _ in range(6)]
    worker = stage.worker(TEST_APPS="tests.quick_restarts")
    assert worker.exit_code() == 1
    assert "Child processes die again and again (5 times in 5 minutes)" in stage.logs()
    assert [reload(job).status for job in jobs] == ["failed"] * 5 + ["pending"]


def test_a_worker_whose_nursery_is_killed_hands_back_what_it_can_and_exits_with_1(stage: Stage):
    job_id = stage.add("app.long", max_attempts=2)
    worker = stage.worker()
    child = stage.wait_for_start(job_id).pid
    nursery = next(pid for pid in worker.family() if pid not in (worker.pid, child))
    os.kill(nursery, signal.SIGKILL)
    assert worker.exit_code() == 1
    assert "The process that holds this worker's children is gone" in stage.logs()
    job = reload(job_id)
    assert (job.status, job.attempt, job.crashes) == (Status.PENDING, 1, 1)  # it may have been the job's doing
    stage.wait_for(lambda: not is_alive(child))


def test_a_child_that_dies_before_its_nursery_is_settled_too(stage: Stage):
    """The nursery could not tell of it any more, being frozen; that the child has hung up was heard long before."""
    job_id = stage.add("app.long", max_attempts=2)
    worker = stage.worker()
    child = stage.wait_for_start(job_id).pid
    nursery = next(pid for pid in worker.family() if pid not in (worker.pid, child))
    os.kill(nursery, signal.SIGSTOP)
    os.kill(child, signal.SIGKILL)
    stage.wait_for(lambda: read_stat(child)[0] == "Z")
    os.kill(nursery, signal.SIGKILL)
    assert worker.exit_code() == 1
    job = reload(job_id)
    assert (job.status, job.attempt, job.crashes) == (Status.PENDING, 1, 1)


def test_a_child_that_is_frozen_between_two_jobs_is_replaced(stage: Stage):
    """It holds no job by then: what it was given was called back."""
    first = stage.add("app.short")
    stage.worker(TEST_APPS="tests.impatient")
    stage.wait_for_end(first)
    frozen = stage.history("start")[0].pid
    os.kill(frozen, signal.SIGSTOP)
    second = stage.add("app.short", max_attempts=1)
    assert (stage.wait_for_end(second).status, reload(second).attempt) == (Status.COMPLETED, 1)
    assert stage.history("start")[-1].pid != frozen
    assert f"neither goes on nor ends pid={frozen}" in stage.logs()


def test_a_frozen_worker_that_comes_back_after_its_job_was_taken_changes_nothing(stage: Stage):
    job_id = stage.add("app.long")
    frozen = stage.worker()
    stage.wait_for_start(job_id)
    family = frozen.freeze()
    stage.wait_for(lambda: reap_once().requeued == [job_id])
    stage.open_gate()
    stage.run("--name", "successor")
    done = Job.objects.filter(pk=job_id).values().get()
    history = events_of(job_id)
    thaw(family)
    next_id = stage.add("app.short")
    assert stage.wait_for_end(next_id).last_worker_id == frozen.row().pk
    assert Job.objects.filter(pk=job_id).values().get() == done
    assert events_of(job_id) == history
    assert (done["status"], done["last_worker_name"], done["attempt"]) == (Status.COMPLETED, "successor", 2)
    assert [(line.what, line.attempt) for line in stage.history() if line.job == job_id] == [
        ("start", 1), ("start", 2), ("end", 2),
    ]  # fmt: skip


def test_a_frozen_worker_whose_job_nobody_took_finishes_it(stage: Stage):
    job_id = stage.add("app.long", max_attempts=1)
    frozen = stage.worker()
    stage.wait_for_start(job_id)
    family = frozen.freeze()
    stage.wait_for(lambda: Job.objects.in_states(["expired"]).filter(pk=job_id).exists())
    stage.open_gate()
    thaw(family)
    job = stage.wait_for_end(job_id)
    assert (job.status, job.attempt, job.crashes) == (Status.COMPLETED, 1, 0)
