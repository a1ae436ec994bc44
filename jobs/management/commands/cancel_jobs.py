"""`manage.py cancel_jobs`: cancel what waits, ask what runs to stop."""

from typing import Any

from django.core.management.base import CommandParser

from jobs.lifecycle.cancel import cancel
from jobs.lifecycle.new_job import check_text
from jobs.management.base import JobyardCommand, complain_about
from jobs.management.selection import add_filter, add_ids, chosen, not_found, reasons
from jobs.management.text import told
from jobs.selectors.jobs import find_jobs
from jobs.states import ACTIVE

ENDED = "it has ended, or was asked to stop before"


class Command(JobyardCommand):
    help = """Cancel jobs: pending ones at once; running ones are asked to stop, and their workers obey at
the next heartbeat. What has ended stays as it is. retry_jobs brings a cancelled job back."""
    examples = """  manage.py cancel_jobs 41 42 --reason "wrong file"
  manage.py cancel_jobs --queue media --status pending
  manage.py cancel_jobs --state stalled --older-than 1d"""

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        add_ids(parser, "cancel")
        parser.add_argument("--reason", default="", metavar="TEXT", help="a word for the jobs' history")
        add_filter(parser, ACTIVE, states=True)

    def handle(self, *args: Any, **options: Any) -> None:
        which = chosen(options, "cancel", otherwise=ACTIVE)
        result = cancel(find_jobs(which), check_text("reason", options["reason"], 500))
        seen = {*result.cancelled, *result.requested, *result.skipped}
        skipped = dict.fromkeys(result.skipped, ENDED) | not_found(which, seen)
        self.answer(
            {"cancelled": result.cancelled, "requested": result.requested, "skipped": skipped},
            told("Cancelled", result.cancelled),
            *([told("Asked to stop", result.requested)] if result.requested else []),
            *reasons(skipped),
        )
        complain_about(skipped, which.ids)
