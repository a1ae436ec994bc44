"""A web server that a test starts on the test's database, and stops by its process id."""

import http.client
import signal
import ssl
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType

from django.conf import settings

from tests.manage import environment
from tests.patience import PATIENCE
from tests.postgres import free_port


class WebServer:
    def __init__(self, log: Path, address: str = "", certificate: str = "", **more: str) -> None:
        """Beside the loopback it answers at `address`, for hosts of their own; with a certificate it speaks TLS."""
        self.log, self.port, self.is_secure = log, free_port(), bool(certificate)
        if certificate:
            more["GUNICORN_CMD_ARGS"] = f"--certfile {certificate} --keyfile {certificate}"
        if address:
            more["GUNICORN_CMD_ARGS"] = f"--bind 127.0.0.1:{self.port} --bind {address}:{self.port}"
        self.environment = environment(**{"PORT": str(self.port), "DJANGO_SETTINGS_MODULE": "project.settings", **more})
        self.start()

    def __enter__(self) -> "WebServer":
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self.process.poll() is None:
            self.stop()  # in order: killed, it would leave behind the process that it started

    def start(self) -> None:
        """As the Procfile does."""
        with self.log.open("a") as file:
            command = [sys.executable, "-m", "gunicorn"]
            self.process = subprocess.Popen(
                command, cwd=settings.BASE_DIR, env=self.environment, stdout=file, stderr=subprocess.STDOUT
            )
        deadline = time.monotonic() + PATIENCE
        while not self.answers():
            assert self.process.poll() is None, self.log.read_text()
            assert time.monotonic() < deadline, self.log.read_text()
            time.sleep(0.05)

    def answers(self) -> bool:
        with suppress(OSError), self.connect() as connection:
            connection.request("HEAD", "/accounts/login/")
            return connection.getresponse().status == 200
        return False

    @contextmanager
    def connect(self) -> Iterator[http.client.HTTPConnection]:
        connection = self.new_connection()
        try:
            yield connection
        finally:
            connection.close()

    def new_connection(self) -> http.client.HTTPConnection:
        if not self.is_secure:
            return http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        context = ssl._create_unverified_context()  # it is only asked whether it is up
        return http.client.HTTPSConnection("127.0.0.1", self.port, timeout=PATIENCE, context=context)

    def stop(self) -> int:
        """Ask it to stop, and return how it exited."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(PATIENCE)
