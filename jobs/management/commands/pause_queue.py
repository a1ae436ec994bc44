"""`manage.py pause_queue`: let nothing of a queue, a kind, a scope or a key be claimed."""

from typing import Any

from django.core.management.base import CommandParser

from jobs.lifecycle import set_limit
from jobs.lifecycle.queues import pause
from jobs.management.base import JobyardCommand
from jobs.management.limit_target import add_targets, target_of
from jobs.management.text import counted
from jobs.sanitise import printable
from jobs.selectors.depth import queue_depths


class Command(JobyardCommand):
    help = """Pause a queue, or with --kind, --scope or --key all jobs of that name: no worker claims any of them until
resume_queue. What runs goes on, and jobs can be enqueued as before."""
    examples = """  manage.py pause_queue media --reason "the disk is being replaced"
  manage.py pause_queue --kind mail.send
  manage.py pause_queue media --json"""

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("queue", nargs="?", metavar="QUEUE", help="the queue's name")
        add_targets(parser, "kind", "scope", "key")
        parser.add_argument("--reason", default="", metavar="TEXT", help="a word for those who wonder")

    def handle(self, *args: Any, **options: Any) -> None:
        target, queue = target_of(options)
        if target != "queue":
            changed = set_limit.pause(target, queue, options["reason"])
            done = "is paused" if changed else "was paused already"
            document = {"target": target, "name": queue, "paused": True, "changed": changed}
            self.answer(document, f"{target.capitalize()} {printable(queue)} {done}.")
            return
        changed = pause(queue, options["reason"])
        depth = queue_depths().queues[queue]
        waiting, running = counted(depth.pending + depth.scheduled, "job"), counted(depth.running, "job")
        holds = f"In it: {waiting} waiting, {running} running." if any(vars(depth).values()) else "No job is in it."
        done = "is paused" if changed else "was paused already"
        self.answer({"queue": queue, "paused": True, "changed": changed}, f"Queue {queue} {done}. {holds}")
