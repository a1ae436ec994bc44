"""`manage.py make_api_token`: let a program call the HTTP API."""

from typing import Any

from django.contrib.auth import get_user_model
from django.core.management.base import CommandParser

from jobs.exceptions import NotFound
from jobs.lifecycle.api_tokens import make_token
from jobs.lifecycle.new_job import check_text
from jobs.management.arguments import duration
from jobs.management.base import JobyardCommand
from jobs.management.documents import token_document
from jobs.sanitise import printable


class UserNotFound(NotFound):
    """There is no user {name!r}; manage.py createsuperuser, or the admin, makes one."""


class Command(JobyardCommand):
    help = """Make a token for the HTTP API. A program that sends it acts as the user, with the user's permissions, and
the user's name stands in the history of what it does. It is shown once and stored only as a hash."""
    examples = """  manage.py make_api_token anna --name backups
  manage.py make_api_token deploy --name ci --expires-in 90d --json"""

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("user", metavar="USER", help="the name of the user it acts as")
        parser.add_argument("--name", required=True, metavar="TEXT", help="what the token is for")
        parser.add_argument(
            "--expires-in", type=duration, metavar="TIME", help="how long it is valid: 12h, 90d; default: until revoked"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        user = find_user(options["user"])
        token, text = make_token(user, options["name"], options["expires_in"])
        until = f"until {token.expires_at:%Y-%m-%d %H:%M} UTC" if token.expires_at else "until it is revoked"
        shown = f"Token {token.prefix} of {printable(user)}, valid {until}. It is shown only now:"
        self.answer({**token_document(token), "token": text}, shown, text)


def find_user(name: str) -> Any:
    model = get_user_model()
    user = model.objects.filter(**{model.USERNAME_FIELD: check_text("name of the user", name, 300)}).first()
    if user is None:
        raise UserNotFound(name=name)
    return user
