"""`manage.py deliver_webhooks`: send what waits for webhooks."""

from collections.abc import Callable, Sequence
from dataclasses import asdict
from time import monotonic
from typing import Any

from django.core.management.base import CommandParser

from jobs.conf import conf
from jobs.lifecycle.record_deliveries import record_deliveries
from jobs.lifecycle.take_deliveries import take_deliveries
from jobs.management.arguments import interval
from jobs.management.base import JobyardCommand
from jobs.management.repeat import repeat
from jobs.management.text import counted
from jobs.webhooks.delivering import DeliveryTally, deliver
from jobs.webhooks.message import Delivery, Sent

EVERY = 5.0
SLOTS = 8  # where JOBS_WEBHOOK_CONCURRENCY keeps workers from delivering
LONGEST_ROUND = 60.0  # seconds: then signals are heard, and what was done is told


class DatabaseOutbox:
    def take_deliveries(self, limit: int, room: Callable[[str], int]) -> Sequence[Delivery]:
        return take_deliveries(limit, room)

    def record_deliveries(self, sent: Sequence[Sent]) -> None:
        record_deliveries(sent)


class Command(JobyardCommand):
    help = """Send the messages about jobs that are due to their webhooks, and record what became of them.

Workers do this by themselves unless JOBS_WEBHOOK_CONCURRENCY is 0; this is for where they should not, or where
none runs. Any number may run side by side: each message is taken by one of them."""
    examples = """  manage.py deliver_webhooks
  manage.py deliver_webhooks --loop
  manage.py deliver_webhooks --loop 1 --json"""

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument(
            "--loop", nargs="?", type=interval, const=EVERY, metavar="SECONDS",
            help=f"go on until SIGTERM or Ctrl-C, looking every so many seconds ({EVERY:g}); "
            "with --json one document a line",
        )  # fmt: skip

    def handle(self, *args: Any, **options: Any) -> None:
        if options["loop"] is None:
            self.show(self.deliver(lambda: False))
            return
        self.json_indent = None
        repeat(self.one_round, options["loop"])

    def one_round(self) -> None:
        ends_at = monotonic() + LONGEST_ROUND
        tally = self.deliver(lambda: monotonic() > ends_at)
        if self.as_json or tally != DeliveryTally():
            self.show(tally)

    def deliver(self, enough: Callable[[], bool]) -> DeliveryTally:
        return deliver(DatabaseOutbox(), conf.WEBHOOK_CONCURRENCY or SLOTS, enough)

    def show(self, tally: DeliveryTally) -> None:
        if tally == DeliveryTally():
            sentence = "Nothing is due."
        else:
            were = "was" if tally.not_delivered == 1 else "were"
            sentence = f"Delivered {counted(tally.delivered, 'message')}; {tally.not_delivered:,} {were} not taken."
        self.answer(asdict(tally), sentence)
