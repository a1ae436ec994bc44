"""What handlers start and leave behind: no program and no file of theirs survives."""

import os
import signal
from pathlib import Path

import pytest

from jobs.lifecycle.reap import reap_once
from jobs.states import Status
from tests.factories import reload
from tests.worker.stage import Stage, is_alive

pytestmark = pytest.mark.django_db(transaction=True)
WAYS = ["plain", "session", "daemon"]


def left_by(job_id: int) -> int:
    """The pid of the program that the handler started: its checkpoint."""
    return int(str(reload(job_id).checkpoint))


@pytest.mark.parametrize("how", WAYS)
def test_a_program_that_a_handler_leaves_behind_does_not_survive_its_attempt(stage: Stage, how):
    job_id = stage.add("app.littering", {"how": how})
    worker = stage.worker()
    assert stage.wait_for_end(job_id).status == Status.COMPLETED
    stage.wait_for(lambda: not is_alive(stage.result(job_id)))
    assert worker.process.poll() is None


@pytest.mark.parametrize("how", WAYS)
def test_nothing_survives_a_worker_that_is_killed(stage: Stage, how):
    job_id = stage.add("app.littering", {"how": how, "waits": True})
    worker = stage.worker()
    stage.wait_for_start(job_id)
    family = [*worker.family(), left_by(job_id)]
    assert all(map(is_alive, family))
    worker.send(signal.SIGKILL)
    stage.wait_for(lambda: not any(map(is_alive, family)))


@pytest.mark.parametrize("how", WAYS)
def test_nothing_survives_a_child_that_is_killed(stage: Stage, how):
    job_id = stage.add("app.littering", {"how": how, "waits": True}, max_attempts=1)
    stage.worker()
    line = stage.wait_for_start(job_id)
    left = left_by(job_id)
    os.kill(line.pid, signal.SIGKILL)
    assert stage.wait_for_end(job_id).last_error == "Attempt 1 of 1: its process was killed by SIGKILL."
    stage.wait_for(lambda: not is_alive(left))


def test_scratch_ends_with_the_attempt_and_the_workdir_with_the_job(stage: Stage):
    job_id = stage.add("app.folders", {"fails_first": True})
    stage.run(JOBS_WORK_DIR=str(stage.folder / "work"))
    result = stage.result(job_id)
    assert result["left"] == [["attempt-1"], []]
    assert not Path(result["workdir"]).exists()
    assert not Path(result["scratch"]).exists()
    assert not list((stage.folder / "work" / "scratch").iterdir())


def test_the_scratch_of_a_worker_that_was_killed_is_removed_by_another(stage: Stage):
    root = stage.folder / "work"
    job_id = stage.add("app.folders", {"fails_first": True})
    long = stage.add("app.long")
    worker = stage.worker(JOBS_WORK_DIR=str(root))
    stage.wait_for_start(long)
    worker.send(signal.SIGKILL)
    assert worker.exit_code() == -signal.SIGKILL
    reap_once()
    stage.open_gate()
    stage.worker(reaps=True, JOBS_WORK_DIR=str(root), JOBS_REAP_INTERVAL="0.2")
    stage.wait_for_end(long)
    stage.wait_for_end(job_id)
    stage.wait_for(lambda: len(list((root / "scratch").iterdir())) <= 1 and not list((root / "work").iterdir()))
