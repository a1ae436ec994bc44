"""`manage.py drain_worker`: let a worker finish what it runs, and exit."""

from typing import Any

from jobs.exceptions import InvalidInput
from jobs.lifecycle.workers import drain
from jobs.management.worker_command import WorkerCommand
from jobs.models import Worker
from jobs.states import LIVE_WORKER, WorkerStatus


class Command(WorkerCommand):
    help = """Drain a worker: it finishes what it runs, claims nothing more, and exits. It learns so at its next
heartbeat. There is no way back but to start it again."""
    examples = """  manage.py drain_worker gpu-box-1
  manage.py drain_worker 3f2a9c04 --json"""
    prefer = LIVE_WORKER

    def act(self, worker: Worker, options: dict[str, Any]) -> tuple[Worker, str]:
        if worker.status == WorkerStatus.OFFLINE:
            raise InvalidInput(f"Worker {worker.name} is offline: there is nothing to drain.")
        return drain(worker.pk), "is draining: it finishes what it runs, claims nothing more, and exits."
