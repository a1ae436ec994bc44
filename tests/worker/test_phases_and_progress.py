"""Phases, progress and checkpoints as a worker process stores them."""

import pytest

from jobs.lifecycle.cancel import cancel
from jobs.states import Status
from tests.factories import events_of, reload
from tests.worker.stage import Stage

pytestmark = pytest.mark.django_db(transaction=True)
CALLS = 20_000


def phases(job_id: int) -> dict[str, str]:
    return {phase.name: phase.shown_status for phase in reload(job_id).phases.all()}


def test_progress_reported_thousands_of_times_costs_a_handful_of_writes(stage: Stage):
    job_id = stage.add("app.talkative", {"times": CALLS})
    stage.run()
    job = reload(job_id)
    assert (job.status, job.step) == (Status.COMPLETED, f"step {CALLS - 1}")
    assert events_of(job_id).count("progressed") <= 10


def test_a_job_that_is_cancelled_between_two_phases_does_not_begin_the_next(stage: Stage):
    job_id = stage.add("app.phased")
    stage.worker()
    stage.wait_for(lambda: stage.history("second"))
    cancel(job_id)
    stage.wait_for(lambda: "order=cancelled" in stage.logs())
    stage.open_gate()
    assert stage.wait_for_end(job_id).status == Status.CANCELLED
    assert phases(job_id) == {"first": "completed", "second": "completed", "third": "cancelled"}
    assert not stage.history("third")


def test_a_job_that_is_cancelled_inside_a_phase_stops_there(stage: Stage):
    job_id = stage.add("app.chatty_phase")
    stage.worker()
    stage.wait_for(lambda: stage.history("talks"))
    cancel(job_id)
    assert stage.wait_for_end(job_id).status == Status.CANCELLED
    assert phases(job_id) == {"talks": "cancelled"}


def test_a_checkpoint_that_is_too_large_is_refused_in_the_handler(stage: Stage):
    job_id = stage.add("app.hoarding", {"size": 2**21}, max_attempts=1)
    stage.run()
    job = reload(job_id)
    assert (job.status, job.checkpoint) == (Status.COMPLETED, None)
    assert "1048576" in stage.result(job_id)  # what the handler was told


def test_a_result_that_is_no_json_is_stored_as_near_as_can_be(stage: Stage):
    job_id = stage.add("app.odd_result")
    stage.run()
    assert reload(job_id).status == Status.COMPLETED
    assert "object" in stage.result(job_id)["odd"]
