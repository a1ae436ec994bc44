"""A whole site on one machine: PostgreSQL, Redis, workers, reapers, API server, clients, and proxies between them."""

import json
import os
import shutil
import subprocess
import sys
import urllib.request
from contextlib import ExitStack, suppress
from pathlib import Path
from types import TracebackType

import psycopg

from tests.chaos.actors import MANAGE, ROOT, Actor, wait_until, with_mark
from tests.chaos.history import FOLDER
from tests.chaos.witness import TABLES
from tests.postgres import Postgres, free_port
from tests.proxy import Proxy
from tests.redis_server import RedisServer

DIRECT, REMOTE = ("ada", "bob"), ("dan",)
WORKERS = (*DIRECT, *REMOTE)
LEASE = 3
SETTINGS = {
    "JOBS_HEARTBEAT_INTERVAL": "0.5",
    "JOBS_CLAIM_DURATION": str(LEASE),
    "JOBS_WORKER_OFFLINE_THRESHOLD": "2",
    "JOBS_REAP_INTERVAL": "1",
    "JOBS_REAP_GRACE": "2",
    "JOBS_STALE_LOCK_AGE": "10",
    "JOBS_POLL_INTERVAL": "0.5",
    "JOBS_BACKOFF_BASE": "0.2",
    "JOBS_BACKOFF_CAP": "1",
    "JOBS_SHUTDOWN_TIMEOUT": "2",
    "JOBS_DISPATCH": "hybrid",
}
WORK = (*MANAGE, "runworker", "--processes", "2", "--concurrency", "2")
# Commits outlive a crash of the server (not of the machine), and each says when it was.
CONF = {"fsync": "off", "track_commit_timestamp": "on"}
SCRATCH = "16m"
STARTS_WITHIN = 180.0  # a machine that is busy with other things takes its time


class Site:
    """`with Site(folder, seed) as site:` all of it runs."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.folder, self.seed = folder, seed
        self.scratch, self.clocks, logs = folder / "work", folder / "clocks", folder / "logs"
        for each in (self.scratch, self.clocks, logs, folder / "history"):
            each.mkdir(parents=True)
        self.port = free_port()
        self.stack = ExitStack()
        self.proxies: dict[str, Proxy] = {}
        self.actors: dict[str, Actor] = {}
        self.mark = f"{FOLDER}={folder}"

    def __enter__(self) -> "Site":
        with self.stack:  # whatever fails on the way is undone
            self.begin()
            self.stack = self.stack.pop_all()
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.stack.close()

    def begin(self) -> None:
        os.environ[FOLDER] = str(self.folder)
        self.can_fill = self.mount()
        self.postgres = self.stack.enter_context(Postgres(CONF))
        self.redis = self.stack.enter_context(RedisServer())
        self.manage("migrate", "-v0")
        with psycopg.connect(self.postgres.url()) as database:
            database.execute(TABLES)
        self.token = self.make_token()
        self.cast()
        self.stack.callback(self.end)
        for actor in self.actors.values():
            actor.start()
        assert wait_until(self.is_up, STARTS_WITHIN), f"it did not start: {self.folder}"

    def mount(self) -> bool:
        """A small file system for scratch, where we may."""
        command = ["mount", "-t", "tmpfs", "-o", f"size={SCRATCH},mode=0700", "tmpfs", str(self.scratch)]
        if os.geteuid() != 0 or subprocess.run(command, capture_output=True).returncode:
            return False
        self.stack.callback(subprocess.run, ["umount", "-l", str(self.scratch)], check=True)
        return True

    def cast(self) -> None:
        """Who takes part. Each that speaks with the database does so through a proxy of its own."""
        for name in DIRECT:
            self.add(name, (*WORK, "--name", name), self.odd_clock(name))
        for name in REMOTE:
            proxy = self.add(name, WORK, self.odd_clock(name), behind=self.port)
            here = {"JOBS_SERVER_URL": f"http://127.0.0.1:{proxy.port}", "JOBS_WORKER_KEY": self.make_key(name)}
            self.actors[name].env |= here | {"DATABASE_URL": "postgres://nobody@127.0.0.1:1/none"}
        for name in ("reaper-1", "reaper-2"):
            self.add(name, (*MANAGE, "reap_stale", "--loop", "1"))
        port = {"PORT": str(self.port)}
        self.add("api", (sys.executable, "-m", "gunicorn"), {**port, "HTTPS": "0"})
        clients = (sys.executable, "-m", "tests.chaos.clients", str(self.seed))
        self.add("clients", clients, {**port, "CHAOS_TOKEN": self.token})

    def odd_clock(self, name: str) -> dict[str, str]:
        (self.clocks / name).write_text("0")
        return {"TEST_APPS": "tests.chaos,tests.wrong_clock", "CLOCK_FILE": str(self.clocks / name)}

    def add(
        self, name: str, command: tuple[str, ...], env: dict[str, str] | None = None, behind: int | None = None
    ) -> Proxy:
        """A process, and a proxy before what it stands on: the database, unless another port is named."""
        proxy = self.proxies[name] = self.stack.enter_context(Proxy(behind or self.postgres.port))
        whole = self.environment(proxy.port) | {"PGAPPNAME": name} | (env or {})
        self.actors[name] = Actor(name, command, whole, self.folder / "logs")
        return proxy

    def environment(self, port: int) -> dict[str, str]:
        return {
            **os.environ,
            **SETTINGS,
            "DEBUG": "0",
            "SECRET_KEY": "only for chaos",
            "ALLOWED_HOSTS": "127.0.0.1",
            "DJANGO_SETTINGS_MODULE": "tests.settings",
            "TEST_APPS": "tests.chaos",
            "DATABASE_URL": f"postgres://jobyard@127.0.0.1:{port}/postgres",
            "JOBS_REDIS_URL": self.redis.url,
            "JOBS_WORK_DIR": str(self.scratch),
            "PYTHONPATH": str(ROOT),
        }

    def manage(self, *arguments: str) -> str:
        done = subprocess.run(
            [*MANAGE, *arguments],
            cwd=ROOT,
            env={**self.environment(self.postgres.port), "DJANGO_SUPERUSER_PASSWORD": "chaos"},
            capture_output=True,
            text=True,
            timeout=STARTS_WITHIN,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def make_token(self) -> str:
        self.manage("createsuperuser", "--noinput", "--username", "chaos", "--email", "chaos@example.org")
        return str(json.loads(self.manage("make_api_token", "chaos", "--name", "chaos", "--json"))["token"])

    def is_up(self) -> bool:
        return self.answers() and all("worker online" in actor.log.read_text() for actor in self.workers())

    def make_key(self, name: str) -> str:
        return str(json.loads(self.manage("register_worker", name, "--json"))["key"])

    def answers(self) -> bool:
        with (
            suppress(OSError),
            urllib.request.urlopen(f"http://127.0.0.1:{self.port}/health/live", timeout=2) as answer,
        ):
            return bool(answer.status == 200)
        return False

    def workers(self) -> list[Actor]:
        return [actor for name, actor in self.actors.items() if "runworker" in actor.command]

    def database(self) -> "psycopg.Connection[tuple[object, ...]]":
        return psycopg.connect(self.postgres.url(), autocommit=True)

    def end(self) -> None:
        """Nobody outlives the run, however it ends."""
        for actor in self.actors.values():
            actor.go_on()
            actor.kill()
        wait_until(lambda: not with_mark(self.mark), 10)
        shutil.rmtree(self.folder / "work" / "filler", ignore_errors=True)
