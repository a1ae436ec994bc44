"""A worker of another machine is killed: nobody here can see that its process is gone, so its lease must end first."""

import signal

import pytest

from jobs.lifecycle.reap import reap_once
from jobs.states import Status
from tests.concurrency.threads import scalar
from tests.factories import events_of, reload
from tests.worker.checker import check
from tests.worker.stage import Stage

pytestmark = [pytest.mark.postgres, pytest.mark.django_db(transaction=True)]
LEASE = 3


def test_a_job_of_a_worker_killed_on_another_machine_runs_again_after_its_lease(stage: Stage, settings):
    settings.JOBS_CLAIM_DURATION = LEASE
    job_id = stage.add("app.resuming")
    worker = stage.worker(TEST_APPS="tests.other_machine", JOBS_CLAIM_DURATION=str(LEASE))
    stage.wait_for_start(job_id)
    worker.send(signal.SIGKILL)
    worker.exit_code()
    assert reap_once().requeued == []  # its process is gone, but that is for its own machine to see
    stage.wait_for(lambda: reap_once().requeued == [job_id])
    held = scalar("SELECT extract(epoch FROM max(at) - min(at)) FROM jobs_jobevent WHERE name IN ('claimed', 'reaped')")
    assert held > LEASE - 0.5  # their statements began a little before they took effect
    assert (reload(job_id).status, reload(job_id).attempt, reload(job_id).crashes) == (Status.PENDING, 1, 1)
    stage.open_gate()
    stage.run()
    assert (reload(job_id).status, reload(job_id).result) == (Status.COMPLETED, {"read": 4711})
    assert events_of(job_id)[-4:] == ["claimed", "reaped", "claimed", "completed"]
    check(stage.history())
