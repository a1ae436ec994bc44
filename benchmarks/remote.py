"""A worker over HTTP beside one with the database: how soon it starts a job, how many it claims and does a second.

python -m benchmarks.remote --samples 100
"""

import argparse
import os
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

from benchmarks.numbers import number, percentile
from benchmarks.run import boot
from tests.postgres import BENCHMARK_CONF, Postgres, free_port

ROOT = Path(__file__).resolve().parent.parent
NOWHERE = "postgres://nobody@127.0.0.1:9/nothing"
CLAIMERS = (1, 4)


@contextmanager
def site(database_url: str) -> Iterator[str]:
    """The project as `make serve` runs it; yields its URL."""
    port = free_port()
    environment = {**os.environ, "DATABASE_URL": database_url, "PORT": str(port), "HTTPS": "0",
                   "DJANGO_SETTINGS_MODULE": "benchmarks.settings", "JOBS_WORKER_CALLS_PER_KEY": "0",
                   "JOBS_WORKER_CALLS_PER_ADDRESS": "0", "ALLOWED_HOSTS": "127.0.0.1"}  # fmt: skip
    process = subprocess.Popen([sys.executable, "-m", "gunicorn"], cwd=ROOT, env=environment)
    url = f"http://127.0.0.1:{port}"
    try:
        for _ in range(400):
            try:
                urllib.request.urlopen(f"{url}/accounts/login/", timeout=5).close()
                break
            except OSError:
                time.sleep(0.05)
        yield url
    finally:
        process.terminate()
        process.wait(60)


@contextmanager
def key_for(name: str) -> Iterator[str]:
    """A file with the key of a new worker."""
    from jobs.lifecycle.remote_workers import register

    with tempfile.NamedTemporaryFile("w", suffix=".key") as file:  # made for its owner alone
        file.write(register(name)[2])
        file.flush()
        yield file.name


def measure(server: Postgres, samples: int, jobs: int) -> None:
    import benchmarks.job_handlers  # noqa: F401  registers the kinds
    from benchmarks.databases import Databases

    databases = Databases(server.url())
    try:
        for remote in (False, True):
            with databases.fresh("worker"), site(server.url("worker")) as url, key_for("bench") as key:
                options = ("--server", url, "--key-file", key) if remote else ()
                elsewhere = {"DATABASE_URL": NOWHERE} if remote else {}
                name = "over HTTP" if remote else "with the database"
                worker_figures(server, name, options, elsewhere, samples, jobs)
        with databases.fresh("claims"), site(server.url("claims")) as url:
            claim_figures(url, jobs)
    finally:
        databases.disconnect_all()


def worker_figures(
    server: Postgres, name: str, options: tuple[str, ...], elsewhere: dict[str, str], samples: int, jobs: int
) -> None:
    from benchmarks.enqueue import new_jobs
    from benchmarks.processes import RunningWorker, wait_for
    from benchmarks.worker import waking_time
    from jobs.lifecycle.enqueue import enqueue
    from jobs.lifecycle.enqueue_many import enqueue_many
    from jobs.models import Job

    with RunningWorker(server, "worker", "--processes", "1", *options, **elsewhere):
        enqueue("bench.arrived")
        wait_for(lambda: Job.objects.filter(status="completed").exists())
        time.sleep(2)  # what the worker does once after its start is over
        taken = [waking_time() for _ in range(samples)]
        enqueue_many(new_jobs(jobs))
        began = time.monotonic()
        wait_for(lambda: not Job.objects.filter(status__in=("pending", "running")).exists())
        pace = jobs / (time.monotonic() - began)
    p50, p99 = (percentile(taken, percent) * 1e3 for percent in (50, 99))
    print(f"worker {name}: start after p50 {number(p50)} ms, p99 {number(p99)} ms ({samples} samples); "
          f"{number(pace)} no-op jobs/s in a drain of {jobs:,}", flush=True)  # fmt: skip


def claim_figures(url: str, jobs: int) -> None:
    """Calls of `claim` alone, one job or a hundred each, by one caller and by several."""
    for callers in CLAIMERS:
        for limit in (1, 100):
            calls = min(300, jobs // (limit * callers)) if limit > 1 else 300
            seconds = timed_claims(url, callers, limit, calls)
            total = callers * calls
            print(f"claims of {limit}, {callers} at once: {number(total / seconds)} calls/s, "
                  f"{number(total * limit / seconds)} jobs/s", flush=True)  # fmt: skip


def timed_claims(url: str, callers: int, limit: int, calls: int) -> float:
    from benchmarks.enqueue import new_jobs
    from jobs.lifecycle.enqueue_many import enqueue_many
    from jobs.lifecycle.remote_workers import register
    from jobs.wire.messages import ClaimOrder
    from jobs.worker.http_client import HttpClient
    from jobs.worker.http_server import Server

    enqueue_many(new_jobs(callers * limit * calls))
    clients = [HttpClient(Server(url, register(f"claimer-{uuid4()}")[2])) for _ in range(callers)]
    for client in clients:
        client.register()
    queues = [job.queue for job in new_jobs(1) if job.queue]

    def claim(client: HttpClient) -> None:
        for _ in range(calls):
            assert len(client.claim(ClaimOrder(uuid4(), queues, limit))) == limit

    threads = [threading.Thread(target=claim, args=[client]) for client in clients]
    began = time.monotonic()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return time.monotonic() - began


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.remote", description=__doc__.partition("\n")[0])
    parser.add_argument("--samples", type=int, default=100, help="wake-ups for each side")
    parser.add_argument("--jobs", type=int, default=5_000, help="no-op jobs for each drain")
    options = parser.parse_args()
    with Postgres(BENCHMARK_CONF) as server:
        boot(server)
        measure(server, options.samples, options.jobs)


if __name__ == "__main__":
    main()
