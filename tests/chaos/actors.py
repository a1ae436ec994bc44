"""The processes of a site, each of which can be killed, stopped, continued and started again."""

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

from jobs.worker.proc import processes
from tests.chaos.exits import Exit
from tests.chaos.history import told

ROOT = Path(__file__).resolve().parents[2]
MANAGE = (sys.executable, str(ROOT / "manage.py"))
MARK = "CHAOS_ACTOR"  # in the environment of whatever descends from an actor, whoever is its parent by now
ENDS_WITHIN = 120.0  # seconds from SIGTERM; a machine that is busy with other things takes its time
GONE_WITHIN = 30.0  # seconds from the end of an actor until nothing of it lives


class Actor:
    def __init__(self, name: str, command: tuple[str, ...], env: dict[str, str], logs: Path) -> None:
        self.name, self.command, self.log = name, command, logs / f"{name}.log"
        self.env = env
        self.process: subprocess.Popen[bytes] | None = None
        self.frozen: list[int] = []
        self.leaves = self.killed = False  # it was asked to, it was made to
        self.exits: list[Exit] = []  # of all that ran under this name
        self.remains: list[str] = []  # what outlived one of them, in words
        self.number, self.log_begins, self.frozen_mark = 0, 0, ""
        self.takes_all_along = "runworker" in command  # a web server ends its requests first

    @property
    def runs(self) -> bool:
        return self.process is not None and self.process.poll() is None

    @property
    def mark(self) -> str:
        return f"{MARK}={self.log}:{self.number}:"

    def start(self) -> None:
        if self.runs:
            return
        self.bury()
        self.leaves = self.killed = False
        self.number += 1
        name, _, mark = self.mark.partition("=")
        with self.log.open("a") as log:
            self.log_begins = log.tell()
            self.process = subprocess.Popen(
                self.command,
                cwd=ROOT,
                env=self.env | {name: mark},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
            )

    def family(self) -> list[int]:
        """Its process, and all that descend from it."""
        assert self.process
        parents = {pid: parent for pid, parent, _ in processes()}
        family = [self.process.pid]
        for pid in family:
            family += [child for child, parent in parents.items() if parent == pid]
        return family

    def terminate(self) -> bool:
        """Whether it had to be asked."""
        if self.process is None or not self.runs or self.leaves:
            return False
        self.leaves = True
        self.process.send_signal(signal.SIGTERM)
        return True

    def kill(self) -> bool:
        """Whether it lived."""
        if self.process is None or not self.runs:
            return False
        self.killed = True
        self.process.kill()
        self.process.wait()
        self.bury()
        return True

    def stop(self) -> bool:
        """All of them, as a suspended machine does: also in the middle of a transaction. Whether they ran."""
        if not self.runs or self.frozen:
            return False
        self.frozen_mark = self.mark
        while new := [pid for pid in self.family() if pid not in self.frozen]:  # one may have been forked meanwhile
            self.frozen += new
            signal_all(new, signal.SIGSTOP)
        return True

    def go_on(self) -> None:
        frozen, self.frozen = self.frozen, []
        for pid in frozen:
            told("thawed", pid=pid)  # before: what goes on may speak sooner than we
        signal_all(frozen, signal.SIGCONT)
        if frozen and not (self.runs and self.mark == self.frozen_mark):
            self.expect_nothing_of(self.frozen_mark)  # it was killed meanwhile

    def await_end(self) -> None:
        """Of one that was asked to leave."""
        if self.process is None:
            return
        try:
            self.process.wait(ENDS_WITHIN)
        except subprocess.TimeoutExpired:
            self.exits.append(self.exit_with(None))
            self.kill()
        self.bury()

    def end(self) -> None:
        """In order."""
        self.go_on()
        self.terminate()
        self.await_end()

    def bury(self) -> None:
        """How it ended is noted, by itself or not; nothing of it may live on, unless it is stopped and cannot end."""
        if self.process is None or self.runs:
            return
        self.exits.append(self.exit_with(self.process.returncode))
        self.process = None
        self.expect_nothing_of(self.mark)

    def exit_with(self, code: int | None) -> Exit:
        with self.log.open(errors="replace") as log:
            log.seek(self.log_begins)
            return Exit(self.name, code, log.read(), asked=self.leaves, killed=self.killed)

    def expect_nothing_of(self, mark: str) -> None:
        def left() -> list[int]:
            return [pid for pid in with_mark(mark) if pid not in self.frozen]

        if self.takes_all_along and not wait_until(lambda: not left(), GONE_WITHIN):
            self.remains.append(f"{self.name} is gone, and its processes {left()} live on")


def signal_all(pids: list[int], number: signal.Signals) -> None:
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, number)


def with_mark(mark: str) -> list[int]:
    """Processes that live and have this in their environment, whoever is their parent by now."""
    return [pid for pid, _, _ in processes() if pid != os.getpid() and mark in told_by_kernel(pid, "environ")]


def told_by_kernel(pid: int, what: str) -> str:
    try:
        return Path(f"/proc/{pid}/{what}").read_bytes().decode(errors="replace")
    except OSError:
        return ""  # gone, or about to be


def wait_until(condition: object, seconds: float) -> bool:
    assert callable(condition)
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True
