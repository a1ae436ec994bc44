"""What `queue_status` shows: how deep each queue is, which workers there are, and who holds what since when."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from rich.console import RenderableType
from rich.text import Text

from jobs.management.tables import Cell, Column, heading, state, table
from jobs.readable import clock_time, human_duration
from jobs.sanitise import printable
from jobs.selectors.clock import database_now
from jobs.selectors.depth import Depth, Depths, queue_depths
from jobs.selectors.workers import Holding, holdings, workers_by_status

COUNTS = ("pending", "scheduled", "running", "completed", "failed", "cancelled")


@dataclass(frozen=True)
class Status:
    depths: Depths
    workers: dict[str, int]
    held: list[Holding]
    now: datetime

    def document(self) -> dict[str, Any]:
        return {
            "queues": {name: depth.as_dict() for name, depth in self.depths.queues.items()},
            "total": self.depths.total.as_dict(),
            "workers": self.workers,
        }

    def shown(self) -> list[str | RenderableType]:
        workers = ", ".join(f"{number} {status}" for status, number in self.workers.items() if number)
        return [queues_table(self.depths), "", f"Workers: {workers or 'none registered'}", "", *self.holders()]

    def holders(self) -> list[str | RenderableType]:
        if not self.held:
            return ["No job is running."]
        unseen = self.depths.total.running - len(self.held)
        more = [f"… and {unseen:,} more; `list_jobs --status running` shows them."] if unseen > 0 else []
        return [holders_table(self.held, self.now), *more]


def read_status() -> Status:
    return Status(queue_depths(), workers_by_status(), holdings(), database_now())


def queues_table(depths: Depths) -> RenderableType:
    if not depths.queues:
        return Text("There are no jobs. `manage.py enqueue KIND` makes one.")
    columns = [Column("QUEUE", cut=True), *(Column(name.upper(), right=True) for name in COUNTS), Column("OLDEST")]
    rows = [depth_row(name_cell(name, name in depths.paused), depth) for name, depth in depths.queues.items()]
    return table(columns, [*rows, depth_row(heading("total"), depths.total)])


def name_cell(name: str, paused: bool) -> Cell:
    return Text.assemble(printable(name), ("  paused", "bold yellow")) if paused else name


def depth_row(name: Cell, depth: Depth) -> list[Cell]:
    age = depth.oldest_pending_seconds
    return [name, *(f"{getattr(depth, count):,}" for count in COUNTS), "" if age is None else human_duration(age)]


def holders_table(held: list[Holding], now: datetime) -> RenderableType:
    columns = [
        Column("JOB", right=True),
        Column("WHAT, AND WHO HOLDS IT", cut=True),
        Column("STATE"),
        Column("%", right=True),
        Column("SINCE"),
        Column("LEASE", right=True),
    ]
    return table(columns, [holder_row(holding, now) for holding in held])


def holder_row(holding: Holding, now: datetime) -> list[Cell]:
    job: Any = holding.job  # read with its state
    left = (job.lease_expires_at - now).total_seconds()
    since = clock_time(job.claimed_at, now)
    return [job.pk, what_and_who(holding), state(job.state), job.progress, since, lease_left(left)]


def what_and_who(holding: Holding) -> Text:
    """Two lines, so that a terminal of 80 columns has room for both."""
    job = holding.job
    where = f" on {printable(holding.hostname)}, pid {holding.pid}" if holding.pid else ", whose row is gone"
    what = f"{printable(job.kind)}  {printable(job.subject)}".rstrip()
    return Text.assemble(what, "\n", (f"by {printable(job.last_worker_name)}{where}", "dim"))


def lease_left(seconds: float) -> Text:
    return Text(human_duration(seconds)) if seconds > 0 else Text(f"over {human_duration(-seconds)}", "bold red")
