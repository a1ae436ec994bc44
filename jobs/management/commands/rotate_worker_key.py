"""`manage.py rotate_worker_key`: a new key for a remote worker, and an end for its others."""

from datetime import timedelta
from typing import Any

from django.core.management.base import CommandParser

from jobs.lifecycle.worker_keys import rotate
from jobs.management.arguments import duration
from jobs.management.base import JobyardCommand
from jobs.management.documents import key_document
from jobs.management.worker_keys import until
from jobs.sanitise import printable
from jobs.selectors.worker_keys import find_remote_worker


class Command(JobyardCommand):
    help = """Make a new key for a remote worker. Its others go on for --overlap, so that the machine can be given the
new one without a break, and then end."""
    examples = """  manage.py rotate_worker_key gpu-box-1
  manage.py rotate_worker_key gpu-box-1 --overlap 0s --expires-in 90d"""

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("worker", metavar="NAME_OR_ID", help="its name, its id, or how the id begins")
        parser.add_argument(
            "--overlap", type=duration, default=timedelta(days=1), metavar="TIME",
            help="how long the others go on; default: 1d",
        )  # fmt: skip
        parser.add_argument(
            "--expires-in", type=duration, metavar="TIME", help="the new key is valid for so long; default: for ever"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        worker = find_remote_worker(options["worker"])
        key, text = rotate(worker, options["overlap"], options["expires_in"])
        shown = f"Worker {printable(worker.name)}, key {key.prefix}, valid {until(key)}. It is shown only now:"
        self.answer({**key_document(key), "key": text}, shown, text)
