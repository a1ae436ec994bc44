"""Jobyard itself, with its worker as a user starts it."""

import os
import sys
from pathlib import Path

from benchmarks.sides.side import Side, main

ROOT = Path(__file__).resolve().parent.parent.parent
TABLES = ("job", "jobevent", "claim", "queuedelta", "queuetotal", "worker")


class Jobyard(Side):
    distribution = "jobyard"
    how = "runworker as it is: a process for each core, LISTEN/NOTIFY, events, counts and fences on"
    tables = tuple(f"jobs_{table}" for table in TABLES)
    # By its own counters, which change with the rows: to count a hundred thousand of these ten times a second would
    # take a third of a core from what is measured.
    done = (
        "SELECT COALESCE(SUM(jobs), 0) FROM (SELECT jobs, bucket FROM jobs_queuedelta UNION ALL "
        "SELECT jobs, bucket FROM jobs_queuetotal) AS counted WHERE bucket = 'completed'"
    )
    jobs = 80_000

    def setup(self) -> None:
        self.connect()
        from django.core.management import call_command

        call_command("migrate", verbosity=0)

    def connect(self) -> None:
        import django

        django.setup()
        from django.db import connection

        import benchmarks.job_handlers  # noqa: F401  registers the kinds

        connection.ensure_connection()  # as the other sides do: a web process has had one for long

    def enqueue(self, sent: int | None = None) -> None:
        from jobs import enqueue

        if sent is None:
            enqueue("bench.noop")
        else:
            enqueue("bench.note", {"sent": sent})

    def enqueue_many(self, number: int) -> None:
        from benchmarks.job_handlers import noop

        noop.enqueue_many({} for _ in range(number))

    def work(self) -> None:
        os.execv(sys.executable, [sys.executable, str(ROOT / "manage.py"), "runworker"])


if __name__ == "__main__":
    main(Jobyard())
