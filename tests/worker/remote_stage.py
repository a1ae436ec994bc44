"""The same stage for workers that have a server instead of the database: a real gunicorn, and a key for each worker."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from jobs.lifecycle.remote_workers import register
from tests.web.server import WebServer
from tests.worker.stage import SHORT, Stage, WorkerProcess, family_of, freeze, thaw

# Nobody answers there: a worker that opened its database would fail.
NO_DATABASE = "postgres://nobody@127.0.0.1:9/nothing"
WITHOUT_PROXY = {"NO_PROXY": "127.0.0.1", "no_proxy": "127.0.0.1"}


class RemoteStage(Stage):
    def __init__(self, folder: Path, server: WebServer) -> None:
        super().__init__(folder)
        self.url = f"http://127.0.0.1:{server.port}"

    def key_file(self, name: str) -> Path:
        path = self.folder / f"{name}.key"
        with open(os.open(path, os.O_CREAT | os.O_WRONLY, 0o600), "w") as file:
            file.write(register(name)[2])
        return path

    def worker(self, *arguments: str, reaps: bool = False, **env: str) -> WorkerProcess:
        """Each has a worker and a key of its own, unless it is given one."""
        if "--key-file" not in arguments:
            arguments = ("--key-file", str(self.key_file(f"remote-{len(self.workers)}")), *arguments)
        env = {"DATABASE_URL": NO_DATABASE, **WITHOUT_PROXY, **env}
        return super().worker("--server", self.url, *arguments, reaps=reaps, **env)


@contextmanager
def awake(server: WebServer) -> Iterator[None]:
    """One server serves many tests; between them it is frozen, for it would write into tables that are emptied."""
    thaw(family_of(server.process.pid))
    try:
        yield
    finally:
        freeze(server.process.pid)


@contextmanager
def web_server(folder: Path, certificate: str = "", **env: str) -> Iterator[WebServer]:
    """As a user runs it, with the short times and the kinds of the tests."""
    known = {**SHORT, "JOBS_REAP_GRACE": "1", "DJANGO_SETTINGS_MODULE": "tests.settings"}
    with WebServer(folder / "web.log", certificate=certificate, **{**known, **env}) as server:
        try:
            yield server
        finally:
            thaw(family_of(server.process.pid))
