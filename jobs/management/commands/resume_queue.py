"""`manage.py resume_queue`: let a paused queue be served again."""

from typing import Any

from django.core.management.base import CommandParser

from jobs.lifecycle.queues import resume
from jobs.management.base import JobyardCommand


class Command(JobyardCommand):
    help = "Resume a paused queue: workers claim its jobs again."
    examples = """  manage.py resume_queue media
  manage.py resume_queue media --json"""

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("queue", metavar="QUEUE", help="the queue's name")

    def handle(self, *args: Any, **options: Any) -> None:
        queue = options["queue"]
        changed = resume(queue)
        done = "is resumed" if changed else "was not paused"
        self.answer({"queue": queue, "paused": False, "changed": changed}, f"Queue {queue} {done}.")
