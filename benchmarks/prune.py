"""Pruning beside live work: how long claims take while old jobs are marked and deleted, and while nothing else is done.

    python -m benchmarks.prune --rows 1000000 --rate 500 --at-most 330

Old jobs with three events each are pruned by `manage.py prune_jobs`, a process of its own, while this one enqueues,
claims and finishes `rate` jobs a second in batches. After `at-most` seconds pruning is ended where it is, and told how
far it came.
"""

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.numbers import number, percentile
from benchmarks.run import boot
from tests.postgres import BENCHMARK_CONF, Postgres

ROOT = Path(__file__).resolve().parent.parent
BATCH = 25
AT_MOST = 2.0  # times the claims without pruning
# Everything that is older than two minutes is marked and deleted by one run.
RETENTION = {f"JOBS_RETENTION_{name}": "120" for name in ("COMPLETED", "FAILED", "CANCELLED")}
RETENTION["JOBS_RETENTION_STALE_FOR"] = "0"


@dataclass
class Load:
    """Live work: batches at a steady pace, and how long each claim took."""

    rate: int
    claims: list[float] = field(default_factory=list)
    seconds: float = 0.0

    def run(self, goes_on: Callable[[], bool]) -> "Load":
        from jobs.lifecycle.workers import register
        from jobs.process_identity import this_process

        worker = register("bench", this_process(), queues=["bench"], slots=BATCH)
        began = due = time.monotonic()
        while goes_on():
            self.claims.append(claimed_in(worker))
            due += BATCH / self.rate
            time.sleep(max(0.0, due - time.monotonic()))
        self.seconds = time.monotonic() - began
        return self

    def told(self, name: str) -> str:
        pace = len(self.claims) * BATCH / self.seconds
        p50, p99 = (percentile(self.claims, percent) * 1e3 for percent in (50, 99))
        return f"| {name} | {number(p50)} ms | {number(p99)} ms | {number(pace)} | {len(self.claims)} |"


def claimed_in(worker: Any) -> float:
    """The seconds of one claim; what it claims is enqueued before and finished after, off the clock."""
    from jobs.handlers.base import Outcome
    from jobs.lifecycle.claim import claim
    from jobs.lifecycle.enqueue_many import enqueue_many
    from jobs.lifecycle.finish import finish
    from jobs.lifecycle.new_job import NewJob

    enqueue_many(NewJob("bench.noop", {"video": n}, queue="bench") for n in range(BATCH))
    began = time.perf_counter()
    taken = claim(worker, ["bench"], BATCH)
    seconds = time.perf_counter() - began
    finish([Outcome.completed(job.claim) for job in taken])
    return seconds


def measure(server: Postgres, rows: int, rate: int, seconds: float, at_most: float) -> None:
    import benchmarks.job_handlers  # noqa: F401  registers the kinds
    from benchmarks import fill
    from benchmarks.databases import Databases
    from jobs.models import Job

    databases = Databases(server.url())
    try:
        with databases.fresh("prune"):
            fill.finished(rows)
            fill.count_right()
            until = time.monotonic() + 3
            Load(rate).run(lambda: time.monotonic() < until)  # warm
            until = time.monotonic() + seconds
            alone = Load(rate).run(lambda: time.monotonic() < until)
            began = time.monotonic()
            pruning = subprocess.Popen(
                [sys.executable, str(ROOT / "manage.py"), "prune_jobs"],
                env={**os.environ, **RETENTION, "DATABASE_URL": server.url("prune")},
                cwd=ROOT,
            )
            beside = Load(rate).run(lambda: pruning.poll() is None and time.monotonic() - began < at_most)
            took, is_over = time.monotonic() - began, pruning.poll() is not None
            pruning.terminate()
            assert pruning.wait(60) == 0 or not is_over, "prune_jobs failed"
            old = Job.objects.exclude(queue="bench")
            left, marked = old.count(), old.exclude(stale_at=None).count()
            print(
                f"Of {rows:,} old jobs {rows - left:,} were marked and deleted in {took:.0f} s, {marked:,} more were "
                f"marked: {(2 * (rows - left) + marked) / took:,.0f} rows/s; {rate}/s wanted live\n"
            )
            print("| claims of 25 | p50 | p99 | live jobs/s | claims |\n| --- | ---: | ---: | ---: | ---: |")
            print(alone.told("without pruning"))
            print(beside.told("while pruning"))
            ratio = percentile(beside.claims, 99) / percentile(alone.claims, 99)
            print(f"\np99 while pruning : without = {ratio:.2f} (bar: at most {AT_MOST:g})")
    finally:
        databases.disconnect_all()


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.prune", description=__doc__.partition("\n")[0])
    parser.add_argument("--rows", type=int, default=1_000_000, help="old jobs to prune (default: %(default)s)")
    parser.add_argument("--rate", type=int, default=500, help="live jobs a second (default: %(default)s)")
    parser.add_argument("--seconds", type=float, default=60, help="how long claims alone are measured")
    parser.add_argument("--at-most", type=float, default=330, help="seconds that pruning is let run")
    options = parser.parse_args()
    with Postgres({**BENCHMARK_CONF, "max_wal_size": "2GB"}) as server:
        boot(server)
        measure(server, options.rows, options.rate, options.seconds, options.at_most)


if __name__ == "__main__":
    main()
