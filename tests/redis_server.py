"""A private Redis: started on a free port, stopped by its process id."""

import shutil
import subprocess
import tempfile
import time
from pathlib import Path
from types import TracebackType

import redis

from tests.postgres import free_port

COMMAND = "redis-server"
MISSING = "redis-server is not installed (apt-get install redis-server)"
STARTS_WITHIN = 20.0


class RedisServer:
    """`with RedisServer() as server: … server.url`; it can be killed and started again, at the same place."""

    def __init__(self, password: str = "") -> None:
        self.port, self.password = free_port(), password
        self.root = Path(tempfile.mkdtemp(prefix="jobyard-redis-"))
        self.process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> "RedisServer":
        try:
            self.start()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.stop()

    @property
    def url(self) -> str:
        return f"redis://{f':{self.password}@' if self.password else ''}127.0.0.1:{self.port}/0"

    def client(self) -> redis.Redis:
        return redis.Redis.from_url(self.url, decode_responses=True, protocol=2)

    def start(self) -> None:
        command = [str(shutil.which(COMMAND)), "--port", str(self.port), "--bind", "127.0.0.1", "--save", "", "--dir"]
        command += [str(self.root), "--appendonly", "no", *(["--requirepass", self.password] if self.password else [])]
        with (self.root / "log").open("a") as log:
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT)
        deadline = time.monotonic() + STARTS_WITHIN
        with self.client() as client:
            while True:
                try:
                    client.ping()
                except redis.ConnectionError:
                    assert self.process.poll() is None, (self.root / "log").read_text()
                    assert time.monotonic() < deadline, (self.root / "log").read_text()
                    time.sleep(0.02)
                else:
                    return

    def kill(self) -> None:
        """At once, with all it knows: nothing is on disk."""
        assert self.process
        self.process.kill()
        self.process.wait(STARTS_WITHIN)

    def stop(self) -> None:
        if self.process and self.process.poll() is None:
            self.kill()
        shutil.rmtree(self.root, ignore_errors=True)
