"""`manage.py retry_jobs`: run ended jobs again."""

from typing import Any

from django.core.management.base import CommandParser

from jobs.lifecycle.new_job import check_text
from jobs.lifecycle.retry import requeue, retry
from jobs.management.base import JobyardCommand, complain_about, refuse
from jobs.management.selection import add_filter, add_ids, chosen, not_found, reasons
from jobs.management.text import told
from jobs.selectors.jobs import find_jobs
from jobs.states import TERMINAL, Status


class Command(JobyardCommand):
    help = """Run jobs again that failed or were cancelled, with all their attempts.

Completed phases, completed qualities and the checkpoint stay, so that work goes on where it ended;
--from-start forgets them, and takes completed jobs, too. A filter without --status means failed jobs.
A job whose dedupe key another active job has meanwhile is left alone; the others go on."""
    examples = """  manage.py retry_jobs 41 42
  manage.py retry_jobs --all-failed --queue media
  manage.py retry_jobs --status completed --kind reports.build --older-than 1d --from-start"""

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        add_ids(parser, "retry")
        parser.add_argument("--all-failed", action="store_true", help="all failed jobs, or those of them that match")
        parser.add_argument("--from-start", action="store_true", help="forget what earlier attempts achieved")
        parser.add_argument("--reason", default="", metavar="TEXT", help="a word for the jobs' history")
        add_filter(parser, TERMINAL)

    def handle(self, *args: Any, **options: Any) -> None:
        if options["all_failed"]:
            options["statuses"] = [*options["statuses"], Status.FAILED]
        if Status.COMPLETED in options["statuses"] and not options["from_start"]:
            refuse("Completed jobs have nothing left to do; add --from-start to run them again from nothing.")
        verb = requeue if options["from_start"] else retry
        which = chosen(options, "retry", otherwise=[Status.FAILED])
        result = verb(find_jobs(which), check_text("reason", options["reason"], 500))
        skipped = result.skipped | not_found(which, {*result.moved, *result.skipped})
        self.answer(
            {"retried": result.moved, "skipped": skipped},
            told("Retried", result.moved),
            *reasons(skipped),
        )
        complain_about(skipped, which.ids)
