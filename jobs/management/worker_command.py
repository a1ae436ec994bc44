"""What the commands about one worker share."""

from collections.abc import Collection
from typing import Any

from django.core.management.base import CommandParser

from jobs.management.base import JobyardCommand
from jobs.models import Worker
from jobs.sanitise import printable
from jobs.selectors.worker_list import find_worker
from jobs.states import WorkerStatus


class WorkerCommand(JobyardCommand):
    prefer: Collection[WorkerStatus]  # whom a name means, where old workers bear it, too

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("worker", metavar="NAME_OR_ID", help="its name, its id, or how the id begins")

    def handle(self, *args: Any, **options: Any) -> None:
        worker, sentence = self.act(find_worker(options["worker"], self.prefer), options)
        document = {
            "id": worker.pk,
            "name": worker.name,
            "status": worker.status,
            "drain_requested": worker.drain_requested,
        }
        self.answer(document, f"Worker {printable(worker.name)} {sentence}")

    def act(self, worker: Worker, options: dict[str, Any]) -> tuple[Worker, str]:
        """Do it; returns the worker as it is now, and how the sentence goes on."""
        raise NotImplementedError
