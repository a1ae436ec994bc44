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
from jobs.worker.nursery import processes
from tests.postgres import Postgres

ROOT = Path(__file__).resolve().parent.parent
TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")
PAGE = os.sysconf("SC_PAGE_SIZE")


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
        wait_for(lambda: Worker.objects.filter(pid=self.process.pid, last_heartbeat=None).exists())
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(60)

    def family(self) -> list[int]:
        parents = {pid: parent for pid, parent, _ in processes()}
        family = [self.process.pid]
        for pid in family:
            family += [child for child, parent in parents.items() if parent == pid]
        return family

    def cpu_seconds(self) -> float:
        return sum(ticks_of(pid) for pid in self.family()) / TICKS_PER_SECOND

    def megabytes(self) -> float:
        """What its processes hold, shared pages counted once for each."""
        return sum(pages_of(pid) for pid in self.family()) * PAGE / 2**20


def ticks_of(pid: int) -> int:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])


def pages_of(pid: int) -> int:
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1])


def wait_for(condition: Callable[[], object], seconds: float = 600) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError("The worker did not do in time what was to be measured.")
        time.sleep(0.02)
