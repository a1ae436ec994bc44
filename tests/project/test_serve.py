"""`make serve`: web, worker and reaper of the Procfile in one terminal, and nothing of them after Ctrl-C."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen
from uuid import uuid4

import pytest
from django.conf import settings

from jobs.states import Status
from project.ports import free_port
from tests.factories import reload
from tests.manage import environment
from tests.patience import PATIENCE
from tests.worker.stage import Stage

ALL_GONE_WITHIN = 15.0


class Served:
    """The Procfile's processes, each in a session of its own: a mark in their environment finds them all."""

    def __init__(self, log: Path) -> None:
        self.mark, self.port, self.log = f"serve-{uuid4()}", free_port(0), log
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        marked = environment(
            PATH=path, PORT=str(self.port), MARK=self.mark, DJANGO_SETTINGS_MODULE="tests.settings",
            PYTHONPATH=str(settings.BASE_DIR), JOBS_POLL_INTERVAL="0.1",
        )  # fmt: skip
        with log.open("w") as file:
            self.honcho = subprocess.Popen(
                [sys.executable, "-m", "honcho", "start"],
                cwd=settings.BASE_DIR, env=marked, stdout=file, stderr=subprocess.STDOUT, start_new_session=True,
            )  # fmt: skip

    def processes(self) -> list[int]:
        return [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit() and self.owns(entry)]

    def owns(self, process: Path) -> bool:
        try:
            return self.mark.encode() in (process / "environ").read_bytes()
        except OSError:
            return False  # it has exited, or it is not ours to look at

    def answers(self) -> bool:
        try:
            with urlopen(f"http://127.0.0.1:{self.port}/admin/login/", timeout=PATIENCE) as page:
                return page.status == 200 and b"Log in" in page.read()
        except (URLError, ConnectionError):
            return False

    def end(self) -> None:
        for pid in self.processes():
            os.kill(pid, signal.SIGKILL)
        self.honcho.wait(ALL_GONE_WITHIN)


@pytest.fixture
def stage(tmp_path: Path, transactional_db: None) -> Stage:
    return Stage(tmp_path)


@pytest.fixture
def served(stage: Stage) -> Iterator[Served]:
    served = Served(stage.folder / "serve.log")
    yield served
    served.end()


def test_everything_runs_and_ctrl_c_ends_everything_and_hands_the_running_job_back(stage: Stage, served: Served):
    job_id = stage.add("app.long")
    stage.wait_for(served.answers)
    stage.wait_for_start(job_id)
    assert len(served.processes()) >= 4  # honcho and its three
    os.kill(served.honcho.pid, signal.SIGINT)
    served.honcho.wait(ALL_GONE_WITHIN)
    stage.wait_for(lambda: not served.processes(), seconds=1)
    job = reload(job_id)
    assert (job.status, job.attempt, job.crashes) == (Status.PENDING, 0, 0), served.log.read_text()
    assert "SIGKILL" not in served.log.read_text()
