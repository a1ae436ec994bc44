"""`manage.py register_worker`: let a machine work that never sees the database."""

from typing import Any

from django.core.management.base import CommandParser

from jobs.lifecycle.remote_workers import register
from jobs.management.arguments import duration
from jobs.management.base import JobyardCommand
from jobs.management.documents import key_document
from jobs.management.worker_keys import until
from jobs.sanitise import printable


class Command(JobyardCommand):
    help = """Register a remote worker and make a key for it, which is shown once: put it into a file on the machine,
and start `manage.py runworker --server URL --key-file FILE` there. A key for each machine. A name that is known
gets another key; its keys that nobody ever used are revoked."""
    examples = """  manage.py register_worker gpu-box-1
  manage.py register_worker gpu-box-1 --expires-in 90d --json"""

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("name", metavar="NAME", help="what people call the worker")
        parser.add_argument(
            "--expires-in",
            type=duration,
            metavar="TIME",
            help="the key is valid for so long, as in 90d",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        worker, key, text = register(options["name"], options["expires_in"])
        shown = f"Worker {printable(worker.name)}, key {key.prefix}, valid {until(key)}. It is shown only now:"
        self.answer({**key_document(key), "key": text}, shown, text)
