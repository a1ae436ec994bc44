"""`manage.py queue_status`: how deep the queues are, and who holds what."""

import shutil
from typing import Any

from django.core.management.base import CommandParser

from jobs.management.arguments import interval
from jobs.management.base import JobyardCommand
from jobs.management.repeat import repeat
from jobs.management.status_page import document, shown
from jobs.readable import full_time
from jobs.selectors.overview import overview

REDRAW = "\x1b[H\x1b[J"  # to the upper left corner, and clear what is below


class Command(JobyardCommand):
    help = """Show what needs attention, every queue with its jobs by status, the age of the oldest one waiting
and its pace, how many jobs ended lately and how long they took, the workers by status, and who
holds what: which job, how far it is, on which machine and process, since when, and how long its
lease still lasts. Pending means due now; scheduled means later, retries included."""
    examples = """  manage.py queue_status
  manage.py queue_status --watch 5
  manage.py queue_status --json"""

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument(
            "--watch", nargs="?", type=interval, const=2.0, metavar="SECONDS",
            help="show it again every so many seconds (2) until Ctrl-C; with --json one document a line",
        )  # fmt: skip

    def handle(self, *args: Any, **options: Any) -> None:
        if options["watch"] is None:
            self.show()
        else:
            self.json_indent = None
            repeat(self.redraw, options["watch"])

    def show(self) -> None:
        seen = overview()
        self.answer(document(seen), *shown(seen))

    def redraw(self) -> None:
        if self.as_json or not self.stdout.isatty():
            self.show()
            return
        seen = overview()
        page = self.drawn(f"{full_time(seen.now)}   Ctrl-C ends", "", *shown(seen))
        height = shutil.get_terminal_size().lines
        self.write(REDRAW + "\n".join(page.splitlines()[: height - 1]))
