"""`manage.py revoke_worker_key`: a key of a remote worker counts no more."""

from typing import Any

from django.core.management.base import CommandParser
from django.db.models import Q

from jobs.lifecycle.worker_keys import revoke
from jobs.management.base import JobyardCommand, refuse
from jobs.sanitise import printable
from jobs.selectors.worker_keys import find_key, find_remote_worker


class Command(JobyardCommand):
    help = """Revoke a key of a remote worker, or all of its keys: from the next call on they are refused, and the
worker stops. What it holds goes to others when its lease is over. There is no way back but a new key."""
    examples = """  manage.py revoke_worker_key 3f2a9c04
  manage.py revoke_worker_key --worker gpu-box-1"""

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("prefix", nargs="?", metavar="PREFIX", help="which one, as list_worker_keys shows it")
        parser.add_argument("--worker", metavar="NAME_OR_ID", help="all keys of this worker")

    def handle(self, *args: Any, **options: Any) -> None:
        if bool(options["prefix"]) == bool(options["worker"]):
            refuse("Name one key by its prefix, or a worker by --worker.")
        if options["prefix"]:
            key = find_key(options["prefix"])
            which, what = Q(pk=key.pk), f"Key {key.prefix} of {printable(key.worker)}"
        else:
            worker = find_remote_worker(options["worker"])
            which, what = Q(worker=worker), f"Every key of {printable(worker)}"
        revoked = revoke(which)
        told = "is revoked" if revoked else "was not valid any more"
        self.answer({"revoked": revoked}, f"{what} {told}.")
