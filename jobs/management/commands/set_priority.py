"""`manage.py set_priority`: move waiting jobs in their line."""

from typing import Any

from django.core.management.base import CommandParser

from jobs.lifecycle.prioritise import set_priority
from jobs.management.arguments import whole_number
from jobs.management.base import JobyardCommand, complain_about
from jobs.management.selection import add_ids, add_places, chosen
from jobs.management.text import told
from jobs.selectors.jobs import find_jobs
from jobs.states import Status


class Command(JobyardCommand):
    help = "Give pending jobs another priority: higher goes first. Jobs that run or have ended stay as they are."
    examples = """  manage.py set_priority 50 41 42
  manage.py set_priority -10 --queue media --kind transcode.hls"""

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("priority", type=whole_number(-100, 100), metavar="PRIORITY", help="-100 to 100")
        add_ids(parser, "move")
        add_places(parser.add_argument_group("filter", "Pending jobs that match all of these are chosen."))

    def handle(self, *args: Any, **options: Any) -> None:
        which = chosen(options, "move", otherwise=[Status.PENDING])
        moved = set_priority(find_jobs(which), options["priority"])
        left = sorted(set(which.ids) - set(moved))
        self.answer(
            {"priority": options["priority"], "jobs": moved, "skipped": left},
            told(f"Priority {options['priority']}", moved),
            *([told("Left alone, because not pending or not there", left)] if left else []),
        )
        complain_about(left, which.ids)
