"""`manage.py pause_queue`: let nothing of a queue be claimed."""

from typing import Any

from django.core.management.base import CommandParser

from jobs.lifecycle.queues import pause
from jobs.management.base import JobyardCommand
from jobs.management.text import counted
from jobs.selectors.depth import queue_depths


class Command(JobyardCommand):
    help = """Pause a queue: no worker claims anything of it until resume_queue. What runs goes on, and jobs can
be enqueued as before."""
    examples = """  manage.py pause_queue media --reason "the disk is being replaced"
  manage.py pause_queue media --json"""

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("queue", metavar="QUEUE", help="the queue's name")
        parser.add_argument("--reason", default="", metavar="TEXT", help="a word for those who wonder")

    def handle(self, *args: Any, **options: Any) -> None:
        queue = options["queue"]
        changed = pause(queue, options["reason"])
        depth = queue_depths().queues[queue]
        waiting, running = counted(depth.pending + depth.scheduled, "job"), counted(depth.running, "job")
        holds = f"In it: {waiting} waiting, {running} running." if any(vars(depth).values()) else "No job is in it."
        done = "is paused" if changed else "was paused already"
        self.answer({"queue": queue, "paused": True, "changed": changed}, f"Queue {queue} {done}. {holds}")
