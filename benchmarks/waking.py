"""Wake-ups side by side: from enqueue to the handler's first line on an idle worker, by NOTIFY, by Redis, by polling.

python -m benchmarks.waking --samples 100
"""

import argparse
import os
import time

from benchmarks.numbers import number, percentile
from benchmarks.run import boot
from tests.postgres import BENCHMARK_CONF, Postgres
from tests.redis_server import RedisServer

SIDES = {"NOTIFY": ("postgres", 1), "Redis": ("redis", 1), "polling, 1 s": ("polling", 5)}  # which takes fewer samples


def measure(server: Postgres, redis: RedisServer, samples: int) -> None:
    import benchmarks.job_handlers  # noqa: F401  registers the kinds
    from benchmarks.databases import Databases
    from benchmarks.processes import RunningWorker, wait_for
    from benchmarks.worker import waking_time
    from jobs.lifecycle.enqueue import enqueue
    from jobs.models import Job

    databases = Databases(server.url())
    print("| wake-ups by | p50 | p99 | samples |\n| --- | ---: | ---: | ---: |")
    try:
        for name, (dispatch, fewer) in SIDES.items():
            os.environ.update(JOBS_DISPATCH=dispatch, JOBS_REDIS_URL=redis.url)  # here, and in the worker
            with databases.fresh("worker"), RunningWorker(server, "worker", "--processes", "1"):
                enqueue("bench.arrived")
                wait_for(lambda: Job.objects.filter(status="completed").exists())
                time.sleep(2)  # what the worker does once after its start is over
                taken = [waking_time() for _ in range(samples // fewer)]
            p50, p99 = (percentile(taken, percent) * 1e3 for percent in (50, 99))
            print(f"| {name} | {number(p50)} ms | {number(p99)} ms | {len(taken)} |", flush=True)
    finally:
        databases.disconnect_all()


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.waking", description=__doc__.partition("\n")[0])
    parser.add_argument("--samples", type=int, default=300, help="for each side; polling takes a fifth of them")
    with Postgres(BENCHMARK_CONF) as server, RedisServer() as redis:
        boot(server)
        measure(server, redis, parser.parse_args().samples)


if __name__ == "__main__":
    main()
