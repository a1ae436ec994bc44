"""`manage.py prune_jobs`: delete what is old, as the retention settings say."""

from dataclasses import asdict
from typing import Any

from django.core.management.base import CommandParser

from jobs.lifecycle.prune import prune_once
from jobs.management.base import JobyardCommand
from jobs.management.text import counted
from jobs.management.vacuum import vacuum


class Command(JobyardCommand):
    help = """Delete old jobs in two steps: ended jobs are marked stale after JOBS_RETENTION_COMPLETED, _FAILED or
_CANCELLED seconds, and deleted JOBS_RETENTION_STALE_FOR seconds later. Workers that have been offline as
long are deleted, too; what they did keeps their names. Workers do all this by themselves every
JOBS_PRUNE_INTERVAL seconds; where that is 0, run it daily."""
    examples = """  manage.py prune_jobs
  manage.py prune_jobs --vacuum --json"""

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument(
            "--vacuum", action="store_true", help="then shrink the file of SQLite; PostgreSQL does that by itself"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        result = prune_once()
        document: dict[str, Any] = asdict(result)
        lines = [
            f"Marked {counted(result.marked_stale, 'job')} stale, deleted {counted(result.deleted, 'job')}, "
            f"{counted(result.workers_deleted, 'worker')} and {counted(result.webhooks_deleted, 'webhook message')}."
        ]
        if result.left:
            lines.append(
                f"{counted(result.left, 'job')} could not be: somebody held them, or their hook failed (the log says "
                "why). The next run tries them again."
            )
        if options["vacuum"]:
            done = vacuum()
            document["vacuum"] = asdict(done) if done else None
            lines.append(
                f"The database takes {done.bytes_after:,} bytes on disk now, {done.bytes_before:,} before."
                if done
                else "PostgreSQL's autovacuum gives the space back by itself; there is nothing to do."
            )
        self.answer(document, *lines)
