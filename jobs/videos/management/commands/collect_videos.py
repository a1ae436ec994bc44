"""`manage.py collect_videos`: remove files that nobody needs any more."""

from typing import Any

from django.core.management.base import CommandError, CommandParser

from jobs.management.base import FAILED, JobyardCommand
from jobs.sanitise import printable
from jobs.videos.lifecycle.collect import collect_all

SHOWN = 20


class Command(JobyardCommand):
    help = """Look through the storage and remove versions that another took the place of longer than
JOBS_VIDEO_KEEP_OLD seconds ago, what crashed attempts left, and what removed videos had. Workers do
this by themselves after each new version; this finds what they could not, so run it now and then."""
    examples = """  manage.py collect_videos --dry-run
  manage.py collect_videos --json"""

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("--dry-run", action="store_true", help="say what would be removed, and remove nothing")

    def handle(self, *args: Any, **options: Any) -> None:
        removed: list[str] = []
        failed: list[str] = []
        for collected in collect_all(dry_run=options["dry_run"]):
            removed += collected.removed
            failed += collected.failed
        document = {"removed": removed, "failed": failed, "dry_run": options["dry_run"]}
        self.answer(document, *sentences(removed, dry_run=options["dry_run"]))
        if failed:
            names = ", ".join(printable(name, 100) for name in failed[:SHOWN])
            raise CommandError(f"Could not be removed: {names}. The log says why.", returncode=FAILED)


def sentences(removed: list[str], *, dry_run: bool) -> list[str]:
    if not removed:
        return ["Nothing to remove."]
    done = "Would be removed" if dry_run else "Removed"
    lines = [f"{done}: {printable(name, 200)}" for name in removed[:SHOWN]]
    more = len(removed) - len(lines)
    return [*lines, f"{done}: {more:,} more."] if more else lines
