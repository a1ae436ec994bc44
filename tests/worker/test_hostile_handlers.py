"""Handlers that do what no handler should: none runs more often than it may, and none harms another."""

import pytest

from jobs.states import Status
from tests.factories import reload
from tests.worker.checker import check
from tests.worker.stage import Stage

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.mark.parametrize(
    ("how", "error"),
    [
        ("exits with 75", "its process ended with exit code 75"),
        ("raises Cancelled", "was cancelled"),
        ("raises ClaimLost", "is lost"),
        ("raises what cannot be printed", "Unprintable"),
    ],
)
def test_a_handler_that_ends_in_an_odd_way_fails_when_its_attempts_are_used_up(stage: Stage, how, error):
    job_id, beside = stage.add("app.hostile", {"how": how}, max_attempts=2, priority=1), stage.add("app.short")
    stage.run(TEST_APPS="tests.quick_restarts")
    job = reload(job_id)
    assert (job.status, job.attempt) == (Status.FAILED, 2)
    assert error in job.last_error
    assert reload(beside).status == Status.COMPLETED
    check(stage.history())


def test_a_handler_that_closes_every_file_ends_its_process_and_no_other_job(stage: Stage):
    job_id = stage.add("app.hostile", {"how": "closes every file"}, max_attempts=1, priority=1)
    beside = stage.add("app.short", max_attempts=1)
    stage.run(TEST_APPS="tests.quick_restarts")
    assert reload(job_id).status == Status.FAILED
    assert reload(beside).status == Status.COMPLETED


def test_after_a_handler_that_closes_what_is_its_process_own_another_one_goes_on(stage: Stage):
    job_id = stage.add("app.hostile", {"how": "closes the way back"}, max_attempts=1, priority=1)
    beside = stage.add("app.short", max_attempts=1)
    stage.run(TEST_APPS="tests.quick_restarts")
    assert [reload(job).status for job in (job_id, beside)] == [Status.COMPLETED] * 2
    assert len({line.pid for line in stage.history("start")}) == 2


def test_what_is_no_text_is_shown_as_text(stage: Stage):
    job_id = stage.add("app.hostile", {"how": "says what is no text"})
    stage.run()
    assert reload(job_id).status == Status.COMPLETED
    assert "lock" in reload(job_id).step
    assert [quality.name for quality in reload(job_id).qualities.all()] == ["[1]"]


def test_the_copy_of_a_handler_that_forks_runs_nothing_more(stage: Stage):
    warm_up = [stage.add("app.short", priority=2) for _ in range(100)]
    forking = stage.add("app.hostile", {"how": "forks and returns"}, priority=1)
    behind = [stage.add("app.short") for _ in range(100)]
    stage.run()
    for job_id in (*warm_up, forking, *behind):
        assert reload(job_id).status == Status.COMPLETED
    check(stage.history())


def test_what_a_handler_changed_of_its_process_is_not_for_the_next(stage: Stage):
    messy = stage.add("app.hostile", {"how": "leaves a mess"}, priority=2)
    tidy = stage.add("app.folders", priority=1)
    slow = stage.add("app.stalled", max_attempts=1)  # longer than the timer that the first one left
    stage.run(JOBS_WORK_DIR=str(stage.folder / "work"))
    assert [reload(job).status for job in (messy, tidy)] == [Status.COMPLETED] * 2
    assert (reload(slow).last_error, reload(slow).crashes) == ("No progress for 0.5 s", 0)
