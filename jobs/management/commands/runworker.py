"""`manage.py runworker`: work on jobs until told to stop."""

import argparse
import logging
import os
import re
import socket
import sys
from dataclasses import asdict
from typing import Any

from django.core.management.base import CommandError, CommandParser

from jobs.conf import conf
from jobs.exceptions import InvalidInput
from jobs.lifecycle.new_job import check_queue
from jobs.machine import cpu_count
from jobs.management.base import JobyardCommand
from jobs.management.text import counted
from jobs.sanitise import printable
from jobs.selectors.limits import who_holds
from jobs.windows import Window
from jobs.worker.claiming import QueueShare
from jobs.worker.display import Display, LogDisplay
from jobs.worker.http_server import Server, server_of
from jobs.worker.options import WorkerOptions
from jobs.worker.persistence import GivenUp
from jobs.worker.queue_client import QueueRefuses
from jobs.worker.running import run_worker
from jobs.worker.shutdown import WorkerFailed

MOST = 256  # processes of a worker, and threads in each of them


class Command(JobyardCommand):
    help = """Claim jobs and run their handlers until stopped.

Handlers run in child processes, so that one that crashes or hangs takes nobody with it.

Stop it with Ctrl-C or SIGTERM: running jobs may finish (JOBS_SHUTDOWN_TIMEOUT seconds), then
they are handed back with their attempt. A second signal hands them back at once, SIGQUIT kills
their processes first. kill -9 is safe, too: the next reap gives the jobs to another worker."""
    examples = """  runworker                                  all queues, one job per core at a time
  runworker --queue urgent --queue default   strictly in this order
  runworker --queue a:3 --queue b:1          three looks at a for one at b
  runworker --until-empty --max-minutes 50   for a cron job
  runworker --server https://jobs.example.org --key-file worker.key
                                             over HTTP: no database is needed here"""

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument(
            "--queue", action="append", default=[], metavar="Q[:WEIGHT]", type=queue_share,
            help="a queue to serve; may be given several times: the first goes first, or by weight (default: all)",
        )  # fmt: skip
        parser.add_argument(
            "--processes", type=a_few, metavar="P", default=cpu_count(),
            help="child processes that run short jobs (default: one per core, here %(default)s)",
        )  # fmt: skip
        parser.add_argument(
            "--concurrency", type=a_few, metavar="N", default=1,
            help="jobs at a time in each of them, as threads (default: 1); P × N jobs run at once",
        )  # fmt: skip
        parser.add_argument("--name", default="", help="what people call this worker (default: host-pid)")
        parser.add_argument(
            "--server", default=None, metavar="URL", type=not_empty,
            help="do the jobs of this site over HTTP, without its database (default: JOBS_SERVER_URL, else none)",
        )  # fmt: skip
        parser.add_argument(
            "--key-file", default="", metavar="FILE",
            help="where this worker's key for the server is; only its owner may read it (default: JOBS_WORKER_KEY)",
        )  # fmt: skip
        parser.add_argument("--until-empty", action="store_true", help="exit when nothing is due any more")
        parser.add_argument("--max-jobs", type=positive_int, metavar="N", help="exit after N jobs")
        parser.add_argument("--max-minutes", type=positive_number, metavar="M", help="exit after M minutes")
        parser.add_argument(
            "--poll-interval", type=positive_number, metavar="S",
            help="seconds between looks for work (default: JOBS_POLL_INTERVAL, else 1, or 30 where wake-ups work)",
        )  # fmt: skip
        parser.add_argument(
            "--max-size", type=size, metavar="SIZE",
            help="leave jobs whose source is larger to others, as in 500M or 20G (default: take any)",
        )  # fmt: skip
        parser.add_argument(
            "--window", type=window, metavar="HH:MM-HH:MM",
            help="claim only at these hours, by this machine's clock; what runs goes on (default: always)",
        )  # fmt: skip
        parser.add_argument("--no-reaper", action="store_true", help="do not look after crashed workers")
        parser.add_argument("--no-periodic", action="store_true", help="do not start periodic jobs")
        parser.add_argument(
            "--gpu", choices=("auto", "on", "off"), default="auto",
            help="whether to take jobs that want a GPU; auto tries ffmpeg's hardware encoders",
        )  # fmt: skip

    def handle(self, *args: Any, **options: Any) -> None:
        if not logging.getLogger("jobs").hasHandlers():  # a project without LOGGING would see nothing at all
            logging.basicConfig(level=logging.INFO, format="{asctime} {levelname} {name} {message}", style="{")
        server = server_from(options)
        wanted = options_of(options, has_database=server is None)
        name = options["name"] or f"{socket.gethostname()}-{os.getpid()}"
        live = sys.stderr.isatty() and not options["no_color"] and not options["json"]
        try:
            display = on_terminal() if live else LogDisplay()
            name, tally = run_worker(name, wanted, display, gpu=options["gpu"], server=server)
        except (GivenUp, QueueRefuses, WorkerFailed) as error:
            raise CommandError(f"{error}") from error
        asks_why = wanted.until_empty and wanted.has_database and not tally.jobs
        full = who_holds(wanted.queue_names) if asks_why else []
        done = (
            f"worker {printable(name)} done: {counted(tally.jobs, 'attempt')}, {tally.completed} completed, "
            f"{tally.failed} failed, {tally.other} to be tried again, handed back or cancelled"
        )
        self.answer({"worker": name, **asdict(tally), "held_up_by": full}, *map(printable, full), done)


def server_from(options: dict[str, Any]) -> Server | None:
    url = conf.SERVER_URL if options["server"] is None else options["server"]
    server = server_of(url, options["key_file"], conf.WORKER_KEY)
    if server and options["name"]:
        raise InvalidInput("--name is not for a worker with a server: its name belongs to its key.")
    return server


def options_of(options: dict[str, Any], *, has_database: bool = True) -> WorkerOptions:
    return WorkerOptions(
        queues=[queue_share(queue) if isinstance(queue, str) else queue for queue in options["queue"]],
        processes=options["processes"],
        concurrency=options["concurrency"],
        until_empty=options["until_empty"],
        max_jobs=options["max_jobs"],
        max_minutes=options["max_minutes"],
        poll_interval=options["poll_interval"],
        max_size=options["max_size"],
        window=options["window"],
        reaps=not options["no_reaper"],
        ticks=not options["no_periodic"],
        has_database=has_database,
    )


def size(text: str) -> int:
    match = re.fullmatch(r"([0-9]{1,15})([KMGT]?)", text.upper())
    if not match or int(match[1]) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of bytes, as in 500M or 20G")
    return int(match[1]) * 1024 ** " KMGT".index(match[2] or " ")


def window(text: str) -> Window:
    try:
        return Window.parse(text)
    except InvalidInput as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def queue_share(text: str) -> QueueShare:
    name, colon, weight = text.partition(":")
    try:
        return QueueShare(check_queue(name), positive_int(weight) if colon else None)
    except InvalidInput as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def not_empty(text: str) -> str:
    """A variable that is not set must not make a worker of the site's own database out of a remote one."""
    if not text.strip():
        raise argparse.ArgumentTypeError("it is empty: name the site's URL, or leave it out")
    return text


def positive_int(text: str) -> int:
    number = int(text) if text.isdecimal() and text.isascii() and len(text) < 7 else 0
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 1 to 999999")
    return number


def a_few(text: str) -> int:
    number = positive_int(text)
    if number > MOST:
        raise argparse.ArgumentTypeError(f"{text!r} is more than {MOST}: start several workers instead")
    return number


def positive_number(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not 0 < number < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number above zero")
    return number


def on_terminal() -> Display:
    """Loaded only here: in a service nobody looks at it."""
    from jobs.worker.live_display import LiveDisplay

    return LiveDisplay()
