"""A queue among others as the benchmark sees it: processes that enqueue, processes that work, and its tables."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg

from benchmarks.processes import ROOT, cpu_seconds_of, family_of, wait_for
from benchmarks.sides.side import FIRST
from tests.postgres import Postgres

ENVIRONMENT = ROOT / ".venv-sides"
OTHERS = ("pgqueuer", "procrastinate", "django_tasks_db")
STARTED_WITHIN, DRAINED_WITHIN = 60.0, 8.0  # seconds; a slow queue is measured by what it did in the second
LOOK = 0.1


class Competitor:
    def __init__(self, name: str, python: Path, server: Postgres) -> None:
        self.name, self.python, self.server = name, python, server
        self.folder = tempfile.TemporaryDirectory(prefix="bench-")
        self.stamps = Path(self.folder.name) / "stamps"
        self.make_database()
        self.facts: dict[str, Any] = self.ask("setup")

    def make_database(self) -> None:
        database = f"side_{self.name}"
        with psycopg.connect(self.server.url(), autocommit=True) as admin:
            admin.execute(f"CREATE DATABASE {database}")
        self.url = self.server.url(database)
        self.connection: Any = psycopg.connect(self.url, autocommit=True)

    def close(self) -> None:
        self.connection.close()
        self.folder.cleanup()

    # What it is asked to do

    def enqueue_one(self, seconds: float) -> dict[str, float]:
        self.empty()
        return dict(self.ask("one", seconds))

    def enqueue_many(self, seconds: float) -> dict[str, float] | None:
        self.empty()
        return dict(self.ask("many", seconds)) if self.facts["many"] else None

    def drain(self, workers: int, share: float) -> dict[str, float]:
        """From the first look that finds a job finished, so that no start of a process is in it."""
        self.empty()
        jobs = int(self.facts["jobs"] * share)
        self.ask("fill", jobs)
        self.settle()
        with self.working(workers) as processes:
            wait_for(self.done, STARTED_WITHIN)
            before, began = self.usage(processes), time.monotonic()
            first = done = self.done()
            while done < jobs and time.monotonic() - began < DRAINED_WITHIN:
                time.sleep(LOOK)
                done = self.done()
            seconds, after = time.monotonic() - began, self.usage(processes)
        finished = max(1, done - first)
        each = {name: (after[name] - before[name]) / finished for name in after}
        return {"per_second": finished / seconds, **each}

    def wake(self, jobs: int) -> list[float]:
        """Seconds from before the call that enqueues to the first line of the handler, of an idle worker."""
        self.empty()
        with self.working(1):
            for number in (10, jobs):  # the first few are for its start
                self.stamps.unlink(missing_ok=True)
                self.ask("wake", number)
                wait_for(lambda number=number: len(self.stamped()) >= FIRST + number, STARTED_WITHIN)  # type: ignore[misc]
                time.sleep(1.2)  # idle again
        return [(began - sent) / 1e9 for sent, began in self.stamped()[FIRST:]]

    # How

    def ask(self, verb: str, number: float = 0) -> Any:
        done = subprocess.run(
            self.command(verb, str(number)), env=self.environment, cwd=ROOT, capture_output=True, text=True, timeout=300
        )
        if done.returncode:
            raise RuntimeError(f"{self.name} {verb}: {done.stderr[-2000:]}")
        return json.loads(done.stdout.splitlines()[-1]) if done.stdout.strip() else None

    def command(self, *arguments: str) -> list[str]:
        return [str(self.python), "-m", f"benchmarks.sides.{self.name}", *arguments]

    @property
    def environment(self) -> dict[str, str]:
        return {
            **{name: value for name, value in os.environ.items() if name != "LOG_LEVEL"},  # a user's log is as it is
            "DATABASE_URL": self.url,
            "DJANGO_SETTINGS_MODULE": "benchmarks.settings",
            "BENCH_STAMPS": str(self.stamps),
        }

    @contextmanager
    def working(self, workers: int) -> Iterator[list[subprocess.Popen[bytes]]]:
        quiet = subprocess.DEVNULL
        started = [
            subprocess.Popen(self.command("work"), env=self.environment, cwd=ROOT, stdout=quiet, stderr=quiet)
            for _ in range(workers)
        ]
        try:
            yield started
        finally:
            for process in started:
                process.send_signal(signal.SIGTERM)
            for process in started:
                try:
                    process.wait(10)
                except subprocess.TimeoutExpired:
                    process.kill()
                    process.wait()

    def empty(self) -> None:
        self.connection.execute(f"TRUNCATE {', '.join(self.facts['tables'])} RESTART IDENTITY CASCADE")

    def settle(self) -> None:
        """As autovacuum would after a while."""
        self.connection.execute("VACUUM ANALYZE")

    def done(self) -> int:
        return int(self.row(self.facts["done"])[0])

    def stamped(self) -> list[tuple[int, int]]:
        if not self.stamps.exists():
            return []
        pairs = [line.split() for line in self.stamps.read_text().splitlines()]
        return [(int(sent), int(began)) for sent, began in pairs]

    def usage(self, processes: list[subprocess.Popen[bytes]]) -> dict[str, float]:
        """What was used up so far: CPU seconds, bytes of WAL, commits."""
        wal, commits = self.row(
            "SELECT pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::float8, xact_commit::float8 "
            "FROM pg_stat_database WHERE datname = current_database()"
        )
        worker = sum(cpu_seconds_of(pid) for process in processes for pid in family_of(process.pid))
        server = sum(cpu_seconds_of(pid) for pid in family_of(self.server.pid))
        return {"worker_cpu": worker, "server_cpu": server, "wal": wal, "commits": commits}

    def row(self, statement: str) -> tuple[Any, ...]:
        found = self.connection.execute(statement).fetchone()
        assert found is not None
        return tuple(found)


def installed(server: Postgres) -> list[Competitor]:
    """Jobyard, and those of the others that are installed."""
    return [Competitor(name, python, server) for name, python in pythons().items()]


def pythons() -> dict[str, Path]:
    """The interpreter that has each queue."""
    others = Path(os.environ.get("BENCH_SIDES", ENVIRONMENT / "bin" / "python"))
    return {"jobyard": Path(sys.executable)} | {name: others for name in OTHERS if has(others, name)}


def has(python: Path, name: str) -> bool:
    if not python.exists():
        return False
    asked = f"import importlib.util as found; raise SystemExit(not found.find_spec({name!r}))"
    return not subprocess.run([python, "-c", asked], cwd="/").returncode
