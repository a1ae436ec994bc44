"""The web server loses what it stands on: its sessions of the database, or the process that looks after it."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.concurrency.threads import scalar, wait_until
from tests.web.server import PATIENCE, WebServer
from tests.worker.stage import is_alive

pytestmark = [pytest.mark.postgres, pytest.mark.django_db(transaction=True)]
OTHERS = "FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"


@pytest.fixture
def server(tmp_path: Path) -> Iterator[WebServer]:
    with WebServer(tmp_path / "log", WEB_THREADS="1") as server:
        yield server


def ready(server: WebServer) -> int:
    with server.connect() as connection:
        connection.request("GET", "/health/ready")
        return connection.getresponse().status


def test_whose_sessions_are_ended_answers_as_ever(server: WebServer):
    assert ready(server) == 200
    assert scalar(f"SELECT count(pg_terminate_backend(pid)) {OTHERS}") >= 1
    assert ready(server) == 200
    assert server.log.read_text().count("Traceback") <= 1


def test_whose_first_process_is_killed_leaves_nothing_that_would_hold_its_port(server: WebServer):
    master = server.process.pid
    (worker,) = map(int, Path(f"/proc/{master}/task/{master}/children").read_text().split())
    os.kill(master, signal.SIGKILL)
    server.process.wait(PATIENCE)
    wait_until(lambda: not is_alive(worker))
    server.start()  # at the same port; it returns when pages are served
    assert ready(server) == 200
