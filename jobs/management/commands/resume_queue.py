"""`manage.py resume_queue`: let a paused queue, kind, scope or key be served again."""

from typing import Any

from django.core.management.base import CommandParser

from jobs.lifecycle import set_limit
from jobs.lifecycle.queues import resume
from jobs.management.base import JobyardCommand
from jobs.management.limit_target import add_targets, target_of
from jobs.sanitise import printable


class Command(JobyardCommand):
    help = "Resume a paused queue, or with --kind, --scope or --key what was paused so: workers claim its jobs again."
    examples = """  manage.py resume_queue media
  manage.py resume_queue --kind mail.send
  manage.py resume_queue media --json"""

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("queue", nargs="?", metavar="QUEUE", help="the queue's name")
        add_targets(parser, "kind", "scope", "key")

    def handle(self, *args: Any, **options: Any) -> None:
        target, queue = target_of(options)
        if target != "queue":
            changed = set_limit.resume(target, queue)
            done = "is resumed" if changed else "was not paused"
            document = {"target": target, "name": queue, "paused": False, "changed": changed}
            self.answer(document, f"{target.capitalize()} {printable(queue)} {done}.")
            return
        changed = resume(queue)
        done = "is resumed" if changed else "was not paused"
        self.answer({"queue": queue, "paused": False, "changed": changed}, f"Queue {queue} {done}.")
