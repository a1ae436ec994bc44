"""`manage.py enable_worker`: undo disable_worker."""

from typing import Any

from jobs.lifecycle.workers import enable
from jobs.management.worker_command import WorkerCommand
from jobs.models import Worker
from jobs.states import WorkerStatus


class Command(WorkerCommand):
    help = "Enable a worker that was disabled: if its process still runs, its next heartbeat brings it back."
    examples = """  manage.py enable_worker gpu-box-1
  manage.py enable_worker 3f2a9c04 --json"""
    prefer = (WorkerStatus.DISABLED,)

    def act(self, worker: Worker, options: dict[str, Any]) -> tuple[Worker, str]:
        if worker.status != WorkerStatus.DISABLED:
            return worker, "was not disabled."
        return enable(worker.pk), "is enabled: its next heartbeat brings it back."
