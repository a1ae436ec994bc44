"""`manage.py reap_stale`: heal what crashed workers left behind."""

from typing import Any

from django.core.management.base import CommandParser

from jobs.conf import conf
from jobs.lifecycle.reap import ReapResult, reap_once
from jobs.management.arguments import interval
from jobs.management.base import JobyardCommand, refuse
from jobs.management.repeat import repeat
from jobs.management.text import counted, told
from jobs.sanitise import printable

EVERY_SETTING = 0.0


class Command(JobyardCommand):
    help = """Take jobs back from workers that will not finish them, and mark silent workers offline.

Taken back is what a worker holds whose process is gone, or whose lease is over while the worker is
offline, disabled or deleted, or whose lease was over for JOBS_STALE_LOCK_AGE. Such a job runs again, or
fails if its attempts are used up. Workers reap, too; this is for cron, or for where no worker runs."""
    examples = """  manage.py reap_stale
  manage.py reap_stale --dry-run --json
  manage.py reap_stale --loop 30"""

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument(
            "--loop", nargs="?", type=interval, const=EVERY_SETTING, metavar="SECONDS",
            help="go on until SIGTERM or Ctrl-C, every so many seconds (JOBS_REAP_INTERVAL); "
            "with --json one document a line",
        )  # fmt: skip
        parser.add_argument("--dry-run", action="store_true", help="say what would be done, and do nothing")

    def handle(self, *args: Any, **options: Any) -> None:
        dry_run, seconds = options["dry_run"], options["loop"]
        if seconds is None:
            self.show(reap_once(dry_run=dry_run))
            return
        seconds = seconds or conf.REAP_INTERVAL
        if not seconds:
            refuse("JOBS_REAP_INTERVAL is 0, so say how often: --loop SECONDS.")
        self.json_indent = None
        repeat(lambda: self.show_if_news(reap_once(dry_run=dry_run)), seconds)

    def show_if_news(self, result: ReapResult) -> None:
        if self.as_json or result.jobs or result.workers_offline:
            self.show(result)

    def show(self, result: ReapResult) -> None:
        self.answer(result.as_dict(), *sentences(result))


def sentences(result: ReapResult) -> list[str]:
    done = [
        told(what, ids)
        for what, ids in (
            ("Requeued", result.requeued),
            ("Failed, attempts used up", result.failed),
            ("Cancelled, as was asked", result.cancelled),
            ("Released without charge", result.released),
        )
        if ids
    ]
    if result.workers_offline:
        names = ", ".join(printable(name, 60) for name in result.workers_offline[:10])
        done.append(f"Marked offline: {counted(len(result.workers_offline), 'worker')} ({names}).")
    if done and result.dry_run:
        done.insert(0, "Dry run: nothing was changed. This would have been done:")
    if result.in_grace:
        done.append("The database was silent until lately: leases and heartbeats are not judged yet (JOBS_REAP_GRACE).")
    return done or ["Nothing to reap."]
