"""`manage.py list_jobs`: find jobs, the newest first."""

from datetime import datetime
from typing import Any

from django.core.management.base import CommandParser

from jobs.management.arguments import whole_number
from jobs.management.base import JobyardCommand
from jobs.management.documents import LARGE, job_document
from jobs.management.selection import add_filter, job_filter
from jobs.management.tables import Cell, Column, state, table
from jobs.readable import human_duration
from jobs.selectors.clock import database_now
from jobs.selectors.jobs import find_jobs
from jobs.states import Status

COLUMNS = [
    Column("JOB", right=True), Column("STATE"), Column("QUEUE", cut=True), Column("KIND", cut=True),
    Column("SUBJECT", cut=True), Column("PRIO", right=True), Column("%", right=True), Column("TRY", right=True),
    Column("AGE", right=True), Column("ERROR", cut=True),
]  # fmt: skip


class Command(JobyardCommand):
    help = """List jobs that match all filters, the newest first. Without a filter: all of them.

The state is finer than the status: a pending job is unclaimed, scheduled or retrying; a running one
is claimed, expired (its lease is over) or stalled (no progress for JOBS_STALL_AFTER seconds)."""
    examples = """  manage.py list_jobs --status failed --queue media
  manage.py list_jobs --state stalled --state expired
  manage.py list_jobs --kind transcode.hls --older-than 7d --limit 500 --json"""

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        add_filter(parser, Status, states=True)
        parser.add_argument(
            "--limit", type=whole_number(1, 100_000), default=50, metavar="N", help="at most so many (default: 50)"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        limit = options["limit"]
        found = find_jobs(job_filter(options)).with_state().defer(*LARGE).order_by("-pk")
        jobs = list(found[: limit + 1])
        more, jobs = len(jobs) > limit, jobs[:limit]
        now = database_now()
        shown = table(COLUMNS, [row(job, now) for job in jobs]) if jobs else "No job matches."
        rest = [f"There are more; --limit {limit * 2} shows more of them."] if more else []
        self.answer({"jobs": [job_document(job) for job in jobs], "more": more}, shown, *rest)


def row(job: Any, now: datetime) -> list[Cell]:
    age = human_duration((now - job.enqueued_at).total_seconds())
    attempts = f"{job.attempt}/{job.max_attempts}"
    return [
        job.pk, state(job.state), job.queue, job.kind, job.subject, job.priority, job.progress, attempts, age,
        job.standing_error,
    ]  # fmt: skip
