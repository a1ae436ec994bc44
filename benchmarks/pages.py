"""The list of jobs, the dashboard and `/metrics` alone: statements and time to the whole answer, beside so many jobs.

python -m benchmarks.pages --rows 1000000
"""

import argparse
from dataclasses import replace

from benchmarks.run import boot
from benchmarks.scale import FULL
from tests.postgres import BENCHMARK_CONF, Postgres


def measure(server: Postgres, rows: int) -> None:
    from benchmarks import fill, job_list
    from benchmarks.databases import Databases
    from benchmarks.report import say, show

    databases, scale = Databases(server.url()), replace(FULL, finished=rows)
    try:
        databases.create("full")
        with databases.using("full"):
            say(f"filling: {rows:,} finished, a tenth as many pending")
            fill.finished(rows)
            fill.pending(rows // 10, queue="other")
            fill.count_right()
        say("measuring")
        show(job_list.measure(databases, scale))
    finally:
        databases.disconnect_all()


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.pages", description=__doc__.partition("\n")[0])
    parser.add_argument("--rows", type=int, default=1_000_000, help="finished jobs (default: %(default)s)")
    options = parser.parse_args()
    with Postgres({**BENCHMARK_CONF, "max_wal_size": "2GB"}) as server:
        boot(server)
        measure(server, options.rows)


if __name__ == "__main__":
    main()
