"""The processes of a site, each of which can be killed, stopped, continued and started again."""

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

from jobs.worker.nursery import processes
from tests.chaos.history import told

ROOT = Path(__file__).resolve().parents[2]
MANAGE = (sys.executable, str(ROOT / "manage.py"))
ENDS_WITHIN = 30.0


class Actor:
    def __init__(self, name: str, command: tuple[str, ...], env: dict[str, str], logs: Path) -> None:
        self.name, self.command, self.log = name, command, logs / f"{name}.log"
        self.env = env
        self.process: subprocess.Popen[bytes] | None = None
        self.frozen: list[int] = []
        self.leaves = False  # it was asked to

    @property
    def runs(self) -> bool:
        return self.process is not None and self.process.poll() is None

    def start(self) -> None:
        if self.runs:
            return
        self.leaves = False
        with self.log.open("a") as log:
            self.process = subprocess.Popen(
                self.command, cwd=ROOT, env=self.env, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT
            )

    def family(self) -> list[int]:
        """Its process, and all that descend from it."""
        assert self.process
        parents = {pid: parent for pid, parent, _ in processes()}
        family = [self.process.pid]
        for pid in family:
            family += [child for child, parent in parents.items() if parent == pid]
        return family

    def send(self, number: signal.Signals) -> None:
        if self.process is not None and self.runs:
            self.process.send_signal(number)

    def stop(self) -> None:
        """All of them, as a suspended machine does: also in the middle of a transaction."""
        if self.runs and not self.frozen:
            self.frozen = self.family()
            signal_all(self.frozen, signal.SIGSTOP)

    def go_on(self) -> None:
        for pid in self.frozen:
            told("thawed", pid=pid)  # before: what goes on may speak sooner than we
        signal_all(self.frozen, signal.SIGCONT)
        self.frozen = []

    def end(self) -> int | None:
        """In order; returns how it exited, None if it had to be killed."""
        self.go_on()
        if self.process is None:
            return 0
        self.send(signal.SIGTERM)
        try:
            return self.process.wait(ENDS_WITHIN)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait(ENDS_WITHIN)
            return None


def signal_all(pids: list[int], number: signal.Signals) -> None:
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, number)


def with_mark(mark: str) -> list[int]:
    """Processes that live and were started for this run, whoever is their parent by now."""
    return [pid for pid, _, _ in processes() if pid != os.getpid() and has_mark(pid, mark.encode())]


def has_mark(pid: int, mark: bytes) -> bool:
    try:
        return mark in Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:
        return False  # gone, or about to be


def wait_until(condition: object, seconds: float) -> bool:
    assert callable(condition)
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True
