"""Puts Jobyard into a harness that measures job queues side by side, with its worker as a user would start it.

The harness imports this file by its path: `BENCH_PROJECT="$PWD/benchmarks/adapter.py"`, with Jobyard installed in
the environment it runs in. It offers the modules `peers.base` and `peers.django_base`.
"""

import sys
from pathlib import Path

from peers.django_base import DjangoAdapter  # type: ignore[import-not-found]  # the harness's

ROOT = Path(__file__).resolve().parent.parent
QUEUE = "default"
TABLES = ("job", "jobevent", "claim", "queuedelta", "queuetotal", "queue", "worker", "phaseprogress", "qualityprogress")

DONE = "SELECT count(*) FROM jobs_job WHERE status = 'completed' AND id > %s AND id <= %s"
FIRST_PENDING = "SELECT min(id) FROM jobs_job WHERE status = 'pending' AND hold = ''"


class Peer(DjangoAdapter):
    name = "project"
    package = "jobyard"
    settings = "runworker as it is: one child process for each core, LISTEN/NOTIFY; events, counters and fences on"
    apps = ("jobs", "benchmarks")
    has_bulk = True
    deep = True
    deep_n = 10_000
    drain_n, drain_n_quick = 30_000, 12_000
    tables = tuple(f"jobs_{table}" for table in TABLES)

    def __init__(self) -> None:
        sys.path.insert(0, str(ROOT))  # `benchmarks`, which has the handlers, is not installed
        super().__init__()

    def enqueue_one(self, sent_ns: int | None = None) -> None:
        from jobs import enqueue

        if sent_ns is None:
            enqueue("bench.noop")
        else:
            enqueue("bench.stamp", {"sent_ns": sent_ns})

    def enqueue_bulk(self, n: int) -> None:
        from benchmarks.job_handlers import noop

        noop.enqueue_many({} for _ in range(n))

    def count_done(self) -> int:
        return int(self.mon.execute(DONE, (self.lo, self.hi)).fetchone()[0])

    def worker_cmd(self) -> list[str]:
        # As a script, manage.py makes its own folder importable, and with it the handlers in `benchmarks`.
        return [sys.executable, str(ROOT / "manage.py"), "runworker"]

    def preload_finished(self, n: int) -> None:
        from benchmarks import fill

        fill.finished(n)
        fill.count_right()

    def preload_pending(self, n: int) -> None:
        from benchmarks import fill

        fill.pending(n, queue=QUEUE)
        fill.count_right()

    def first_pending(self) -> int:
        return int(self.mon.execute(FIRST_PENDING).fetchone()[0])
