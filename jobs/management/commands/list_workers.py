"""`manage.py list_workers`: who is there."""

from datetime import datetime
from typing import Any

from django.core.management.base import CommandParser

from jobs.management.base import JobyardCommand
from jobs.management.documents import row_document
from jobs.management.tables import Cell, Column, state, table
from jobs.readable import human_duration
from jobs.selectors.clock import database_now
from jobs.selectors.worker_list import list_workers
from jobs.states import WorkerStatus

COLUMNS = [
    Column("WORKER", cut=True), Column("ID"), Column("STATUS"), Column("HOST", cut=True), Column("PID", right=True),
    Column("QUEUES", cut=True), Column("JOBS", right=True), Column("HEARD", right=True),
]  # fmt: skip
PRESENT = [status for status in WorkerStatus if status != WorkerStatus.OFFLINE]


class Command(JobyardCommand):
    help = """List workers: where each runs, which queues it serves, how many jobs it holds of how many it can
hold, and how long ago it was heard. Each process is a worker of its own, also under an old name."""
    examples = """  manage.py list_workers
  manage.py list_workers --all --json"""

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("--all", action="store_true", help="offline ones, too")

    def handle(self, *args: Any, **options: Any) -> None:
        workers = list(list_workers(() if options["all"] else PRESENT))
        now = database_now()
        none = "No worker is registered." if options["all"] else "No worker is there; --all shows those that were."
        self.answer(
            {"workers": [document(worker) for worker in workers]},
            table(COLUMNS, [row(worker, now) for worker in workers]) if workers else none,
        )


def document(worker: Any) -> dict[str, Any]:
    return {**row_document(worker), "holding": worker.holding}


def row(worker: Any, now: datetime) -> list[Cell]:
    return [
        worker.name,
        str(worker.pk)[:8],
        state(worker.status, "draining" if worker.drain_requested else ""),
        worker.hostname,
        worker.pid or "",
        ", ".join(worker.queues) or "all",
        f"{worker.holding}/{worker.slots}",
        human_duration((now - worker.last_heartbeat).total_seconds()) if worker.last_heartbeat else "never",
    ]
