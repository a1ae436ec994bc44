"""`manage.py show_job`: everything of one job, with its history."""

from typing import Any

from django.core.management.base import CommandParser

from jobs.management.arguments import job_id
from jobs.management.base import JobyardCommand
from jobs.management.documents import whole_job_document
from jobs.management.job_page import job_page
from jobs.selectors.jobs import get_job


class Command(JobyardCommand):
    help = """Show everything of a job: its state and how far it is, who holds or held it, its phases and
qualities, payload, result, last error with traceback, and its history, oldest first."""
    examples = """  manage.py show_job 42
  manage.py show_job 42 --json"""

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("id", type=job_id, metavar="ID", help="the job's id")

    def handle(self, *args: Any, **options: Any) -> None:
        job = get_job(options["id"])
        if self.as_json:
            self.answer(whole_job_document(job))
        else:
            self.answer(None, *job_page(job))
