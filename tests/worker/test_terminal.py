"""A worker on a terminal: what it draws there, and what happens when the terminal is closed."""

import os
import pty
import signal
import subprocess

import pytest

from jobs.states import Status
from tests.factories import events_of, reload
from tests.manage import start
from tests.worker.stage import AS_IN_PRODUCTION, SHORT, Stage

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_terminal_that_is_closed_stops_the_worker_in_order(stage: Stage):
    job_id = stage.add("app.long", max_attempts=1)
    ours, theirs = pty.openpty()
    environment = {
        **AS_IN_PRODUCTION,
        **SHORT,
        "JOBS_SHUTDOWN_TIMEOUT": "1",
        "DJANGO_SETTINGS_MODULE": "tests.settings",
    }
    worker = start(
        "runworker", "--no-reaper", "--processes", "1",
        env=environment, stdin=theirs, stdout=subprocess.DEVNULL, stderr=theirs,
    )  # fmt: skip
    try:
        os.close(theirs)
        stage.wait_for_start(job_id)
        stage.wait_for(lambda: b"app.long" in os.read(ours, 65536))
        os.close(ours)
        worker.send_signal(signal.SIGHUP)  # as the kernel does to whom the terminal belongs
        assert worker.wait(20) == 0
    finally:
        worker.kill()
        worker.wait()
    assert (reload(job_id).status, reload(job_id).attempt) == (Status.PENDING, 0)
    assert events_of(job_id) == ["enqueued", "claimed", "released"]
