"""Worker processes to be measured, as an operator would start them."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType

from jobs.models import Worker
from jobs.worker.proc import processes
from tests.postgres import Postgres

ROOT = Path(__file__).resolve().parent.parent
TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")


class RunningWorker:
    """`with RunningWorker(server, "drain", "--processes", "2") as worker: …`"""

    def __init__(self, server: Postgres, database: str, *arguments: str, **settings: str) -> None:
        self.command = [sys.executable, str(ROOT / "manage.py"), "runworker", *arguments]
        self.environment = {
            **os.environ,
            "DATABASE_URL": server.url(database),
            "DJANGO_SETTINGS_MODULE": "benchmarks.settings",
            **settings,
        }

    def __enter__(self) -> "RunningWorker":
        self.process = subprocess.Popen(self.command, env=self.environment, cwd=ROOT, stdout=subprocess.DEVNULL)
        wait_for(lambda: Worker.objects.filter(pid=self.process.pid).exists())
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(60)

    def family(self) -> list[int]:
        return family_of(self.process.pid)

    def cpu_seconds(self) -> float:
        return sum(map(cpu_seconds_of, self.family()))

    def megabytes(self) -> float:
        """What its processes hold; a page that several of them share counts once."""
        return sum(map(kilobytes_of, self.family())) / 1024


def family_of(pid: int) -> list[int]:
    """A process, its children, and theirs."""
    parents = {child: parent for child, parent, _ in processes()}
    family = [pid]
    for each in family:
        family += [child for child, parent in parents.items() if parent == each]
    return family


def cpu_seconds_of(pid: int) -> float:
    """What a process has computed, with those of its children that have ended."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except FileNotFoundError:
        return 0.0  # it has just ended: its parent tells
    return sum(map(int, fields[11:15])) / TICKS_PER_SECOND


def kilobytes_of(pid: int) -> int:
    """A process's share of memory: what it shares with others is divided by their number."""
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    return int(next(line.split()[1] for line in lines if line.startswith("Pss:")))


def wait_for(condition: Callable[[], object], seconds: float = 600) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError("The worker did not do in time what was to be measured.")
        time.sleep(0.02)
