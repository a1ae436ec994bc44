"""The worker as a process: how fast it drains, how soon it wakes, what it costs when idle, and whether it grows."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

from django.db import connection

from benchmarks.databases import Databases, settle
from benchmarks.enqueue import new_jobs
from benchmarks.findings import Figure, Findings
from benchmarks.measure import Spread, interleave
from benchmarks.numbers import percentile
from benchmarks.pgbench import Limit
from benchmarks.processes import RunningWorker, wait_for
from benchmarks.scale import Scale
from jobs.lifecycle.enqueue import enqueue
from jobs.lifecycle.enqueue_many import enqueue_many
from jobs.models import Job
from tests.postgres import Postgres

BATCH = 100
SIDES = {"one process": ("--processes", "1"), "two processes": ("--processes", "2")}


def measure_drain(server: Postgres, databases: Databases, limit: Limit, scale: Scale) -> Findings:
    found = Findings("Drain by a worker, no-op jobs")
    runs = scale.worker_drain // BATCH
    rounds = interleave(
        {
            **{side: partial(drained, server, databases, scale.worker_drain, flags) for side, flags in SIDES.items()},
            "limit": lambda: limit.seconds_per_job("claim_finish_100", runs=runs, jobs_per_run=BATCH, preload=True),
        },
        rounds=scale.rounds,
        per_round=1,
        warm_up=0,
    )
    for side in SIDES:
        found.per_second(f"runworker, {side}", rounds, side)
    found.per_second(f"pgbench: claim {BATCH}, finish {BATCH}", rounds, "limit")
    found.ratio("runworker, one process : pgbench, time per job", rounds, "one process", "limit")
    found.samples["seconds per job"] = rounds.as_microseconds()
    return found


def drained(server: Postgres, databases: Databases, jobs: int, flags: tuple[str, ...]) -> float:
    """Seconds per job, from the first claim to the last completion, by the database's clock."""
    with databases.fresh("worker"):
        enqueue_many(new_jobs(jobs))
        settle()
        with RunningWorker(server, "worker", "--no-reaper", *flags):
            wait_for(lambda: not Job.objects.filter(status__in=("pending", "running")).exists())
        with connection.cursor() as cursor:
            cursor.execute("SELECT extract(epoch FROM max(finished_at) - min(started_at)) FROM jobs_job")
            return float(cursor.fetchone()[0]) / jobs


def measure_waking(server: Postgres, databases: Databases, scale: Scale) -> Findings:
    found = Findings("Wake-up: from enqueue to the handler's first line, idle worker")
    for name, dispatch, samples in (("wake-ups", "auto", scale.wake_ups), ("polling", "polling", scale.wake_ups // 10)):
        taken = waking_times(server, databases, dispatch, samples)
        found.figures += [
            Figure(f"{name}, p50", Spread.of([percentile(taken, 50) * 1e3]), "ms"),
            Figure(f"{name}, p99", Spread.of([percentile(taken, 99) * 1e3]), "ms"),
        ]
        found.samples[name] = [round(seconds * 1e6) for seconds in taken]
    return found


def waking_times(server: Postgres, databases: Databases, dispatch: str, samples: int) -> list[float]:
    with databases.fresh("worker"), RunningWorker(server, "worker", "--processes", "1", JOBS_DISPATCH=dispatch):
        enqueue("bench.arrived")
        wait_for(lambda: Job.objects.filter(status="completed").exists())
        time.sleep(2)  # what the worker does once after its start is over
        return [waking_time() for _ in range(samples)]


def waking_time() -> float:
    sent = time.time_ns()
    job_id = enqueue("bench.arrived").job_id
    wait_for(lambda: Job.objects.filter(pk=job_id, status="completed").exists())
    arrived = int(str(Job.objects.get(pk=job_id).result))
    time.sleep(0.05)  # idle again
    return (arrived - sent) / 1e9


def measure_idling(server: Postgres, databases: Databases, scale: Scale) -> Findings:
    found = Findings(f"An idle worker with two processes, over {scale.idle_seconds} s, default settings")
    with databases.fresh("worker"), RunningWorker(server, "worker", "--processes", "2") as worker:
        time.sleep(10)  # what it does once after its start is over
        with statements_counted() as counted:
            before = worker.cpu_seconds()
            time.sleep(scale.idle_seconds)
            cpu = worker.cpu_seconds() - before
    per_minute = counted[0] * 60 / scale.idle_seconds
    found.figures += [
        Figure("transactions per minute", Spread.of([per_minute]), ""),
        Figure("CPU seconds per hour", Spread.of([cpu * 3600 / scale.idle_seconds]), "s"),
    ]
    return found


@contextmanager
def statements_counted() -> Iterator[list[int]]:
    """How many transactions the server committed in this database, our own looks left out."""
    counted: list[int] = []
    before = transactions()
    yield counted
    counted.append(transactions() - before - 2)


def transactions() -> int:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_stat_clear_snapshot()")
        cursor.execute("SELECT xact_commit FROM pg_stat_database WHERE datname = current_database()")
        return int(cursor.fetchone()[0])


def measure_growth(server: Postgres, databases: Databases, scale: Scale) -> Findings:
    found = Findings("Memory of a worker: supervisor, nursery and one child")
    tenth = scale.growth // 10
    with databases.fresh("worker"), RunningWorker(server, "worker", "--processes", "1") as worker:
        for jobs in (tenth, tenth * 4, tenth * 5):
            enqueue_many(new_jobs(jobs))
            wait_for(lambda: not Job.objects.filter(status__in=("pending", "running")).exists(), 1200)
            done = Job.objects.count()
            found.figures.append(Figure(f"after {done:,} jobs", Spread.of([worker.megabytes()]), "MiB", at_most=80))
    return found
