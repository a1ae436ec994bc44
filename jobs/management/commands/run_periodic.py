"""`manage.py run_periodic`: enqueue the periodic jobs that are due, for sites that leave it to cron."""

from typing import Any

from django.core.management.base import CommandParser

from jobs.conf import conf
from jobs.lifecycle.periodic.sync import sync_with_code
from jobs.lifecycle.periodic.tick import TickResult, tick_once
from jobs.management.base import JobyardCommand
from jobs.management.repeat import Outage, stop_signals
from jobs.management.text import told

SHORTEST, LONGEST = 0.05, 60.0  # seconds between two looks


class Command(JobyardCommand):
    help = """Store what the code declares with @periodic, and enqueue the periodic jobs that are due.

Workers do this by themselves, unless JOBS_PERIODIC_INTERVAL is 0. This is for cron, once a minute, or with --loop
for a process of its own. However many of them look at the same time, each tick becomes one job."""
    examples = """  manage.py run_periodic
  manage.py run_periodic --loop --json"""

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument(
            "--loop", action="store_true",
            help="go on until SIGTERM or Ctrl-C, and start each on time; with --json one document a line",
        )  # fmt: skip

    def handle(self, *args: Any, **options: Any) -> None:
        sync_with_code()
        if not options["loop"]:
            self.show(tick_once())
            return
        self.json_indent = None
        outage = Outage()
        self.pause = SHORTEST
        with stop_signals() as stopped:
            while True:
                outage.survive(self.look)
                if stopped(self.pause):
                    return

    def look(self) -> None:
        """What was due; how long to wait, the database says."""
        self.pause = 1.0  # if the database does not answer
        result = tick_once()
        longest = conf.PERIODIC_INTERVAL or LONGEST
        self.pause = longest if result.next_in is None else min(longest, max(SHORTEST, result.next_in))
        if self.as_json or result.is_news:
            self.show(result)

    def show(self, result: TickResult) -> None:
        self.answer(result.as_dict(), *sentences(result))


def sentences(result: TickResult) -> list[str]:
    lines = [told("Enqueued", result.enqueued)] if result.enqueued else []
    for names, what in (
        (result.skipped, "Skipped, for an earlier job has not ended"),
        (result.missed, "Missed, and given no job of their own"),
        (result.refused, "Refused, see list_periodic --json for why"),
        (result.failed, "Failed, see the log"),
    ):
        if names:
            lines.append(f"{what}: {', '.join(sorted(set(names)))}.")
    return lines or ["Nothing is due."]
