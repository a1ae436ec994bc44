"""`manage.py disable_worker`: stop a worker from working, until enabled again."""

from typing import Any

from django.core.management.base import CommandParser

from jobs.lifecycle.new_job import check_text
from jobs.lifecycle.workers import disable
from jobs.management.worker_command import WorkerCommand
from jobs.models import Worker
from jobs.states import LIVE_WORKER


class Command(WorkerCommand):
    help = """Disable a worker: it claims nothing more, and what it runs is stopped and goes back to its queue
with its attempt. Only enable_worker undoes it."""
    examples = """  manage.py disable_worker gpu-box-1 --reason "the fan is broken"
  manage.py disable_worker 3f2a9c04"""
    prefer = LIVE_WORKER

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("--reason", default="", metavar="TEXT", help="a word for the history")

    def act(self, worker: Worker, options: dict[str, Any]) -> tuple[Worker, str]:
        done = disable(worker.pk, check_text("reason", options["reason"], 500))
        return done, "is disabled: it claims nothing, and what it runs goes back to its queue."
