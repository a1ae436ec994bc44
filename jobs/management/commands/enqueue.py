"""`manage.py enqueue`: make a job."""

from datetime import datetime, timedelta
from typing import Any

from django.core.management.base import CommandParser

from jobs.duration_text import HOW, parse_duration
from jobs.exceptions import InvalidInput, UnknownKind
from jobs.handlers.registry import registry
from jobs.lifecycle.enqueue import enqueue
from jobs.lifecycle.new_job import MAX_ATTEMPTS
from jobs.management.arguments import LARGEST_ID, duration, whole_number
from jobs.management.base import JobyardCommand
from jobs.management.payload import read_payload
from jobs.sanitise import printable
from jobs.selectors.clock import database_now
from jobs.states import Accelerator, Unique

KINDS_SHOWN = 30
OPTIONS = (
    "queue", "priority", "subject", "scope", "dedupe_key", "unique", "force", "max_attempts", "backoff",
    "webhook_url", "accelerator", "limit_key", "size", "allow_unknown",
)  # fmt: skip


class Command(JobyardCommand):
    help = """Enqueue a job: a worker that serves its queue will run it.

The payload is a JSON object, given as KEY=VALUE pairs (values are read as JSON where they are JSON,
else as text), with --payload, or from a file. What is not given comes from the kind's handler, then
from the settings. A duplicate (same queue and dedupe key) is no error: the job that was met is named."""
    examples = """  manage.py enqueue reports.build month=5 title="May, at last" --queue slow --priority 10
  manage.py enqueue transcode.hls --payload '{"video": 7}' --subject movie.mkv --unique active
  manage.py enqueue mail.send --payload-file - --run-after 10m --json < mail.json"""

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("kind", metavar="KIND", help="the name its handler is registered under")
        parser.add_argument("pairs", nargs="*", metavar="KEY=VALUE", help="a key of the payload and its value")
        parser.add_argument("--payload", metavar="JSON", help="the payload as a JSON object")
        parser.add_argument("--payload-file", metavar="FILE", help="a file with the payload; - is standard input")
        parser.add_argument("--queue", metavar="NAME", help="the line it waits in (default: the kind's)")
        parser.add_argument(
            "--priority", type=whole_number(-100, 100), default=0, metavar="N",
            help="-100 to 100, higher goes first (default: 0)",
        )  # fmt: skip
        parser.add_argument("--subject", default="", metavar="TEXT", help="what people see: a path, a title")
        parser.add_argument("--scope", default="", metavar="SCOPE", help="the library or tenant it belongs to")
        parser.add_argument("--limit-key", metavar="KEY", help="jobs with the same key share a limit (see set_limit)")
        parser.add_argument(
            "--size", type=whole_number(0, LARGEST_ID), default=0, metavar="BYTES",
            help="of its source: workers with a --max-size leave larger ones to others",
        )  # fmt: skip
        self.add_uniqueness(parser)
        self.add_execution(parser)

    def add_uniqueness(self, parser: CommandParser) -> None:
        parser.add_argument("--dedupe-key", metavar="KEY", help="at most one pending or running job of a queue has it")
        parser.add_argument(
            "--unique", choices=[str(choice) for choice in Unique],
            help="keep duplicates away while it is active, or for ever; the key is derived if none is given",
        )  # fmt: skip
        parser.add_argument("--force", action="store_true", help="enqueue although a finished job is unique for ever")

    def add_execution(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--run-after", metavar="WHEN",
            help="not before: a duration from now (10m) or a time with its zone (2031-05-01T12:00:00+02:00)",
        )  # fmt: skip
        parser.add_argument(
            "--max-attempts", type=whole_number(1, MAX_ATTEMPTS), metavar="N", help="executions, the first included"
        )
        parser.add_argument("--backoff", metavar="B", help="wait between attempts, such as exponential:10:3600")
        parser.add_argument("--max-runtime", type=duration, metavar="TIME", help="an attempt that runs longer fails")
        parser.add_argument("--webhook-url", metavar="URL", help="who is told when it has ended")
        parser.add_argument(
            "--accelerator", choices=[str(choice) for choice in Accelerator if choice],
            help="prefer a GPU worker, or require one",
        )  # fmt: skip
        parser.add_argument(
            "--allow-unknown", action="store_true", help="the kind's handler lives on another machine: do not ask here"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        runtime: timedelta | None = options["max_runtime"]
        given = {name: options[name] for name in OPTIONS}
        given["run_after"] = moment(options["run_after"])
        given["max_runtime"] = runtime.total_seconds() if runtime is not None else None
        try:
            enqueued = enqueue(options["kind"], read_payload(options), **given)
        except UnknownKind as error:
            raise InvalidInput(f"{error} {known_kinds()} --allow-unknown enqueues it all the same.") from error
        met = f"Nothing new: job {enqueued.job_id} is there already with the same dedupe key."
        self.answer(
            {"job_id": enqueued.job_id, "created": enqueued.created},
            f"Enqueued job {enqueued.job_id}." if enqueued.created else met,
        )


def moment(text: str | None) -> datetime | None:
    """A duration counts from the database's now: this machine's clock decides nothing."""
    if text is None:
        return None
    try:
        return database_now() + parse_duration(text)
    except ValueError:
        pass
    try:
        when = datetime.fromisoformat(text)
    except ValueError:
        raise InvalidInput(
            f"--run-after {printable(text, 60)!r} is neither a time in ISO 8601 nor a duration ({HOW})."
        ) from None
    if when.utcoffset() is None:
        raise InvalidInput(
            f"--run-after {text!r} has no time zone: write {when.isoformat()}Z or {when.isoformat()}+02:00."
        )
    return when


def known_kinds() -> str:
    names = [kind.name for kind in registry]
    more = f" and {len(names) - KINDS_SHOWN} more" if len(names) > KINDS_SHOWN else ""
    return f"Known kinds: {', '.join(names[:KINDS_SHOWN])}{more}." if names else "No kind is registered here."
