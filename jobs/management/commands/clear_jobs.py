"""`manage.py clear_jobs`: delete ended jobs for good."""

import sys
from typing import Any

from django.core.management.base import CommandError, CommandParser

from jobs.lifecycle.clear import clear
from jobs.management.base import JobyardCommand, complain_about, refuse
from jobs.management.selection import add_filter, add_ids, chosen
from jobs.management.text import counted, told
from jobs.selectors.jobs import JobFilter, find_jobs
from jobs.states import TERMINAL


class Command(JobyardCommand):
    help = """Delete ended jobs (completed, failed, cancelled) for good, with their history.
Pending and running ones are never deleted. Asks before it does, unless told --yes."""
    examples = """  manage.py clear_jobs --status completed --older-than 7d --yes
  manage.py clear_jobs --scope library-3 --queue media
  manage.py clear_jobs 41 42 --yes"""

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        add_ids(parser, "delete")
        parser.add_argument("--yes", action="store_true", help="do not ask; needed where nobody can be asked")
        add_filter(parser, TERMINAL)

    def handle(self, *args: Any, **options: Any) -> None:
        which = chosen(options, "clear", otherwise=TERMINAL)
        if not options["yes"]:
            self.ask(which)
        cleared = clear(find_jobs(which), "cleared by clear_jobs")
        left = sorted(set(which.ids) - set(cleared))
        self.answer(
            {"cleared": cleared, "skipped": left},
            told("Cleared", cleared),
            *([told("Left alone, because not ended or not there", left)] if left else []),
        )
        complain_about(left, which.ids)

    def ask(self, which: JobFilter) -> None:
        """On standard error, so that standard output stays the result's."""
        if not sys.stdin.isatty():
            refuse("Deleting is for good: add --yes where nobody can be asked.")
        number = find_jobs(which).terminal().count()
        self.stderr.write(f"Delete {counted(number, 'ended job')} for good? [y/N] ", self.style.WARNING, ending="")
        self.stderr.flush()
        if sys.stdin.readline().strip().lower() not in ("y", "yes"):
            raise CommandError("Nothing was deleted.")
