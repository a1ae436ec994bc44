"""`manage.py list_api_tokens`: which programs may call the HTTP API."""

from datetime import datetime
from typing import Any

from django.core.management.base import CommandParser

from jobs.management.base import JobyardCommand
from jobs.management.documents import token_document
from jobs.management.tables import Cell, Column, table
from jobs.readable import human_duration
from jobs.selectors.api_tokens import list_tokens
from jobs.selectors.clock import database_now

COLUMNS = [
    Column("TOKEN"), Column("NAME", cut=True), Column("USER", cut=True), Column("STATE"),
    Column("MADE", right=True), Column("USED", right=True), Column("EXPIRES IN", right=True),
]  # fmt: skip


class Command(JobyardCommand):
    help = """List the tokens of the HTTP API: whose they are, what for, how long ago each was made and used."""
    examples = """  manage.py list_api_tokens
  manage.py list_api_tokens --all --json"""

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("--all", action="store_true", help="expired and revoked ones, too")

    def handle(self, *args: Any, **options: Any) -> None:
        tokens = list_tokens(all_of_them=options["all"])
        now = database_now()
        none = "There is no token." if options["all"] else "There is no valid token; --all shows those that were."
        self.answer(
            {"tokens": [token_document(token) for token in tokens]},
            table(COLUMNS, [row(token, now) for token in tokens]) if tokens else none,
        )


def row(token: Any, now: datetime) -> list[Cell]:
    return [
        token.prefix,
        token.name,
        str(token.user),
        token.problem or "valid",
        human_duration((now - token.created_at).total_seconds()),
        human_duration((now - token.last_used_at).total_seconds()) if token.last_used_at else "never",
        human_duration((token.expires_at - now).total_seconds()) if token.expires_at else "never",
    ]
