"""`manage.py send_alerts`: look what people should be told, and tell them."""

from typing import Any

from django.core.management.base import CommandParser

from jobs.alerts.sending import channels
from jobs.alerts.watching import TURN, Look, dry_look, look_once
from jobs.lifecycle import turns
from jobs.management.base import JobyardCommand, refuse
from jobs.management.tables import Column, table
from jobs.management.text import counted

COLUMNS = [Column("ALERT"), Column("ABOUT", cut=True), Column("TEXT", cut=True)]


class Command(JobyardCommand):
    help = """Look for what needs attention, and tell JOBS_ALERT_WEBHOOK_URL and the ADMINS of Django's settings.

Workers do this once in JOBS_REAP_INTERVAL; this is for cron, which also notices that no worker is left. The
same alert is not sent again within JOBS_ALERT_COOLDOWN, whoever looks."""
    examples = """  manage.py send_alerts
  manage.py send_alerts --dry-run --json"""

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("--dry-run", action="store_true", help="say what would be raised, and send nothing")

    def handle(self, *args: Any, **options: Any) -> None:
        if options["dry_run"]:
            self.show(dry_look(), "Dry run: nothing was sent.")
            return
        if not channels():
            refuse("There is nobody to tell: set JOBS_ALERT_WEBHOOK_URL, or ADMINS in Django's settings.")
        turns.note(TURN)
        look = look_once()
        self.show(look, f"Sent: {counted(look.sent, 'alert')}." + told_of_failures(look))

    def show(self, look: Look, last: str) -> None:
        raised: list[dict[str, Any]] = [
            {"name": each.name, "key": each.key, "text": each.text, "grave": each.grave} for each in look.raised
        ]
        rows = [[each["name"], each["key"], each["text"]] for each in raised]
        self.answer(
            {"raised": raised, "sent": look.sent, "not_sent": look.not_sent},
            table(COLUMNS, rows) if rows else "Nothing needs attention.",
            last,
        )


def told_of_failures(look: Look) -> str:
    return f" Not sent, to be tried again: {counted(look.not_sent, 'alert')}." if look.not_sent else ""
