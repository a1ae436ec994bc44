"""A worker whose heartbeat is dead must not go on: it stops by itself before its leases end."""

import pytest

from jobs.states import Status
from tests.factories import events_of, reload
from tests.worker.stage import Stage

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_worker_whose_heartbeat_dies_hands_its_jobs_back_and_exits_with_1(stage: Stage):
    job_id, die_when = stage.add("app.long", max_attempts=1), stage.folder / "die"
    worker = stage.worker(TEST_APPS="tests.dying_heartbeat", DIE_WHEN=str(die_when))
    stage.wait_for_start(job_id)
    die_when.touch()
    assert worker.exit_code() == 1
    assert "The heartbeat's thread is dead" in stage.logs()
    assert (reload(job_id).status, reload(job_id).attempt, reload(job_id).crashes) == (Status.PENDING, 0, 0)
    assert events_of(job_id) == ["enqueued", "claimed", "released"]
