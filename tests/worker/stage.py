"""Where worker processes are tested: jobs, a gate and a history for their handlers, and the processes themselves."""

import os
import signal
import sqlite3
import subprocess
import time
from collections.abc import Callable, Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

from django.db import connection

from jobs.lifecycle.enqueue import enqueue
from jobs.models import Job, Worker
from jobs.process_identity import read_stat
from jobs.states import TERMINAL
from jobs.worker.proc import processes
from tests.app.history import Line, read
from tests.concurrency.threads import scalar, wait_until
from tests.factories import reload
from tests.manage import start
from tests.patience import PATIENCE

TIMEOUT = PATIENCE

# With DEBUG on, Django keeps a copy of every statement, which doubles the time of a short job on SQLite.
AS_IN_PRODUCTION = {"DEBUG": "0", "SECRET_KEY": "only for tests"}
# Short, so that nobody waits; in the tests' own process and in the workers alike.
SHORT = {
    "JOBS_HEARTBEAT_INTERVAL": "0.2",
    "JOBS_CLAIM_DURATION": "1",
    "JOBS_WORKER_OFFLINE_THRESHOLD": "0.8",
    "JOBS_REAP_GRACE": "0",
    "JOBS_POLL_INTERVAL": "0.05",
    "JOBS_BACKOFF_BASE": "0",
}


def is_alive(pid: int) -> bool:
    return read_stat(pid)[0] not in ("", "Z", "X")


def is_stopped(pid: int) -> bool:
    return read_stat(pid)[0] in ("T", "", "Z", "X")


def thaw(pids: list[int]) -> None:
    for pid in reversed(pids):  # children first: they must not do harm before they are told
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGCONT)


def family_of(pid: int) -> list[int]:
    """The process, and all that descend from it."""
    parents = {pid: parent for pid, parent, _ in processes()}
    family = [pid]
    for each in family:
        family += [child for child, parent in parents.items() if parent == each]
    return family


def freeze(pid: int) -> list[int]:
    """Stop a process and all that descend from it; not inside a transaction, whose locks nobody could get."""
    while True:
        frozen = family_of(pid)
        for each in frozen:
            with suppress(ProcessLookupError):  # a program that ended just now
                os.kill(each, signal.SIGSTOP)
        wait_until(lambda pids=frozen: all(is_stopped(each) or not is_alive(each) for each in pids))  # type: ignore[misc]
        if nobody_writes():
            return frozen
        thaw(frozen)


def nobody_writes() -> bool:
    """Whether no other connection is inside a transaction."""
    if connection.vendor == "postgresql":
        ours = "datname = current_database() AND backend_type = 'client backend' AND pid <> pg_backend_pid()"
        return bool(scalar(f"SELECT count(*) = 0 FROM pg_stat_activity WHERE {ours} AND state <> 'idle'"))
    with closing(sqlite3.connect(connection.settings_dict["NAME"], timeout=0, isolation_level=None)) as other:
        try:
            other.execute("BEGIN IMMEDIATE")
        except sqlite3.OperationalError:
            return False
        return True


class WorkerProcess:
    """A `runworker` that a test started."""

    def __init__(self, log: Path, arguments: tuple[str, ...], env: dict[str, str], inside: Sequence[str] = ()) -> None:
        """`inside`: what the command begins with, where it is to run on another host."""
        self.log = log
        environment = {**AS_IN_PRODUCTION, "DJANGO_SETTINGS_MODULE": "tests.settings", **SHORT, **env}
        with log.open("w") as file:
            self.process = start(
                "runworker", *arguments, env=environment, inside=inside, stdout=file, stderr=subprocess.STDOUT
            )

    @property
    def pid(self) -> int:
        return self.process.pid

    def send(self, number: signal.Signals) -> None:
        os.kill(self.pid, number)

    def family(self) -> list[int]:
        return family_of(self.pid)

    def cpu_seconds(self) -> float:
        """What its own process has computed so far."""
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def freeze(self) -> list[int]:
        """Stop them all, as a suspended machine does."""
        return freeze(self.pid)

    def exit_code(self, seconds: float = TIMEOUT) -> int:
        """Wait until it exits."""
        return self.process.wait(seconds)

    def row(self) -> Worker:
        return Worker.objects.get(pid=self.pid)

    def end(self) -> None:
        """Whatever it is doing, it does not outlive its test; nor does anything it started."""
        family = self.family()
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(TIMEOUT)
        thaw(family)  # one that was frozen cannot end
        wait_until(lambda: not any(is_alive(pid) for pid in family))


class Stage:
    def __init__(self, folder: Path) -> None:
        self.folder, self.gate, self.history_file = folder, folder / "gate", folder / "history"
        self.workers: list[WorkerProcess] = []

    def add(self, kind: str, payload: dict[str, object] | None = None, **options: Any) -> int:
        """Enqueue a job of tests.app, which this process does not have installed."""
        told = {"history": str(self.history_file), "gate": str(self.gate), **(payload or {})}
        return enqueue(kind, told, allow_unknown=True, **options).job_id

    def worker(self, *arguments: str, reaps: bool = False, **env: str) -> WorkerProcess:
        """Start a worker; without a reaper, so that the test alone says when jobs are taken back."""
        log = self.folder / f"worker-{len(self.workers)}.log"
        one_at_a_time = () if "--processes" in arguments else ("--processes", "1")
        reaper = () if reaps else ("--no-reaper",)
        self.workers.append(WorkerProcess(log, (*arguments, *one_at_a_time, *reaper), env))
        return self.workers[-1]

    def run(self, *arguments: str, reaps: bool = False, **env: str) -> WorkerProcess:
        """Run a worker until nothing is due."""
        worker = self.worker("--until-empty", *arguments, reaps=reaps, **env)
        assert worker.exit_code() == 0, self.logs()
        return worker

    def open_gate(self) -> None:
        self.gate.touch()

    def history(self, what: str | None = None) -> list[Line]:
        return [line for line in read(self.history_file) if what in (None, line.what)]

    def wait_for(self, condition: Callable[[], object], seconds: float = TIMEOUT) -> None:
        deadline = time.monotonic() + seconds
        while not condition():
            assert time.monotonic() < deadline, f"it did not happen in time; the workers said:\n{self.logs()}"
            time.sleep(0.01)

    def wait_for_start(self, job_id: int, attempt: int = 1) -> Line:
        """Wait until a handler runs."""
        self.wait_for(lambda: self.starts(job_id, attempt))
        return self.starts(job_id, attempt)[0]

    def starts(self, job_id: int, attempt: int) -> list[Line]:
        return [line for line in self.history("start") if (line.job, line.attempt) == (job_id, attempt)]

    def wait_for_end(self, job_id: int) -> Job:
        """Wait until the job is completed, failed or cancelled."""
        self.wait_for(lambda: reload(job_id).status in TERMINAL)
        return reload(job_id)

    def result(self, job_id: int) -> Any:
        """What the handler returned, whatever that is."""
        return reload(job_id).result

    def logs(self) -> str:
        return "\n".join(worker.log.read_text() for worker in self.workers)

    def end(self) -> None:
        for worker in self.workers:
            worker.end()
