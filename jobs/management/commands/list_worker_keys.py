"""`manage.py list_worker_keys`: which machines may work, and when each was heard."""

from datetime import datetime
from typing import Any

from django.core.management.base import CommandParser

from jobs.management.base import JobyardCommand
from jobs.management.documents import key_document
from jobs.management.tables import Cell, Column, table
from jobs.readable import human_duration
from jobs.selectors.clock import database_now
from jobs.selectors.worker_keys import list_keys

COLUMNS = [
    Column("KEY"), Column("WORKER", cut=True), Column("STATE"),
    Column("MADE", right=True), Column("USED", right=True), Column("EXPIRES IN", right=True),
]  # fmt: skip


class Command(JobyardCommand):
    help = """List the keys of remote workers: how long ago each was made and used."""
    examples = """  manage.py list_worker_keys
  manage.py list_worker_keys --all --json"""

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("--all", action="store_true", help="expired and revoked ones, too")

    def handle(self, *args: Any, **options: Any) -> None:
        keys = list_keys(all_of_them=options["all"])
        now = database_now()
        none = "There is no key." if options["all"] else "There is no valid key; --all shows those that were."
        self.answer(
            {"keys": [key_document(key) for key in keys]},
            table(COLUMNS, [row(key, now) for key in keys]) if keys else none,
        )


def row(key: Any, now: datetime) -> list[Cell]:
    return [
        key.prefix,
        key.worker.name,
        key.problem or "valid",
        human_duration((now - key.created_at).total_seconds()),
        human_duration((now - key.last_used_at).total_seconds()) if key.last_used_at else "never",
        human_duration((key.expires_at - now).total_seconds()) if key.expires_at else "never",
    ]
