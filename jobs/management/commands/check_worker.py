"""`manage.py check_worker`: is the worker of this machine well? For the probes of containers."""

from typing import Any

from django.core.management.base import CommandError, CommandParser

from jobs.management.base import FAILED, JobyardCommand
from jobs.sanitise import printable
from jobs.selectors.worker_check import check_here, check_named


class Command(JobyardCommand):
    help = """Say whether a worker is well: it is registered, was heard of lately, and is neither offline nor disabled.

Without a name it is about the workers of this machine, told by the host's name, and within a container by its
own processes. The exit code is 0 if one of them is well, else 1. A worker that drains is well until it exits."""
    examples = """  manage.py check_worker
  manage.py check_worker --name gpu-1 --json"""
    requires_system_checks = []  # a probe runs every few seconds

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        which = parser.add_mutually_exclusive_group()
        which.add_argument("--name", metavar="NAME", help="the worker of this name, wherever it runs")
        which.add_argument("--here", action="store_true", help="the workers of this machine (so it is without a name)")

    def handle(self, *args: Any, **options: Any) -> None:
        name = options["name"]
        found = check_named(name) if name else check_here()
        document = {"ok": found.ok, "reason": found.reason, "worker": found.worker, "heard_seconds_ago": found.age}
        if not found.ok:
            if self.as_json:
                self.answer(document)
            raise CommandError(printable(found.reason), returncode=FAILED)
        self.answer(document, printable(found.reason))
