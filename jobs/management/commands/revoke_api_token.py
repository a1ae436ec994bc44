"""`manage.py revoke_api_token`: a token counts no more."""

from typing import Any

from django.core.management.base import CommandParser

from jobs.lifecycle.api_tokens import revoke_token
from jobs.management.base import JobyardCommand
from jobs.sanitise import printable
from jobs.selectors.api_tokens import find_token


class Command(JobyardCommand):
    help = """Revoke a token of the HTTP API: from the next call on it is refused. There is no way back."""
    examples = """  manage.py revoke_api_token backups
  manage.py revoke_api_token 3f2a9c04 --json"""

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument(
            "token", metavar="NAME_OR_PREFIX", help="its name, or the prefix that list_api_tokens shows"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        token = find_token(options["token"])
        changed = revoke_token(token)
        told = "is revoked" if changed else "was revoked already"
        self.answer(
            {"prefix": token.prefix, "name": token.name, "changed": changed}, f"Token {printable(token)} {told}."
        )
