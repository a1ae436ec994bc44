"""A long day in a few minutes: a million jobs by fifty connections beside five million finished ones, watched by many.

    python -m benchmarks.load                                     # the whole of it: hours, and 15 GB of disk
    python -m benchmarks.load --jobs 200000 --finished 500000     # scaled

For a third of the run a session is left idle in its transaction. No error may happen.
"""

import argparse
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import psycopg

from benchmarks.load_report import table
from benchmarks.run import boot
from tests.postgres import BENCHMARK_CONF, Postgres

ROOT = Path(__file__).resolve().parent.parent
PROCESSES, LOOK = 5, 2.0
AHEAD, BATCH = 20_000, 1_000  # jobs that wait at most, and that are enqueued by one call
SIZES = (100, 100, 100, 1_000, 1_000, 10_000)  # bytes of a payload
WAITING = """
SELECT COALESCE(sum(jobs), 0) FROM
    (SELECT queue, bucket, jobs FROM jobs_queuetotal UNION ALL SELECT queue, bucket, jobs FROM jobs_queuedelta) AS c
WHERE queue = 'load' AND bucket IN ('pending', 'scheduled', 'running')
"""
SIZE_OF = (
    "SELECT relname, pg_table_size(oid), pg_indexes_size(oid), "
    "COALESCE(pg_stat_get_dead_tuples(oid), 0) FROM pg_class "
    "WHERE relname IN ('jobs_job', 'jobs_jobevent', 'jobs_claim', 'jobs_queuedelta') ORDER BY 1"
)


@dataclass
class Seen:
    """What was written down while it ran."""

    began: float
    looks: list[tuple[float, float, float, int]] = field(default_factory=list)  # at, MiB, jobs waiting, sessions
    sizes: dict[str, list[tuple[str, int, int, int]]] = field(default_factory=dict)
    idle_from: float = 0.0
    idle_until: float = 0.0


@contextmanager
def claimers(url: str, connections: int, folder: Path) -> Iterator[list["subprocess.Popen[bytes]"]]:
    environment = {**os.environ, "DATABASE_URL": url}
    each, started = connections // PROCESSES, []
    for number in range(PROCESSES):
        arguments = [str(number * each), str(each), str(folder / f"{number}.jsonl")]
        command = [sys.executable, "-m", "benchmarks.claimers", *arguments]
        started.append(subprocess.Popen(command, env=environment, cwd=ROOT))
    try:
        yield started
    finally:
        for process in started:
            process.send_signal(signal.SIGTERM)
        for process in started:
            assert process.wait(120) == 0, "a claimer failed: see what it printed"


@contextmanager
def reaper(url: str) -> Iterator[None]:
    """As every site has: it folds the counters, too."""
    command = [sys.executable, str(ROOT / "manage.py"), "reap_stale", "--loop", "10"]
    process = subprocess.Popen(command, env={**os.environ, "DATABASE_URL": url}, cwd=ROOT, stdout=subprocess.DEVNULL)
    try:
        yield
    finally:
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0, "the reaper failed: see what it printed"


def enqueue_all(jobs: int, seen: Seen, url: str, processes: Sequence["subprocess.Popen[bytes]"]) -> None:
    """Not further ahead than a little, as a site would; and for the middle third somebody forgets a session."""
    from jobs import NewJob, enqueue_many

    with ExitStack() as stack:
        for begin in range(0, jobs, BATCH):
            enqueue_many(
                NewJob("bench.noop", {"text": "x" * SIZES[n % len(SIZES)]}, queue="load", priority=n % 3)
                for n in range(begin, min(begin + BATCH, jobs))
            )
            if begin >= jobs / 3 and not seen.idle_from:
                seen.idle_from = time.time()
                stack.enter_context(forgotten_session(url))
            if begin >= jobs * 2 / 3 and not seen.idle_until:
                seen.idle_until = time.time()
                stack.close()
            if not seen.looks or time.time() > seen.looks[-1][0] + LOOK:
                while look(seen, url, processes) > AHEAD:
                    time.sleep(LOOK)
    while look(seen, url, processes):
        time.sleep(LOOK)


@contextmanager
def forgotten_session(url: str) -> Iterator[None]:
    """It has read and written, and keeps every row that dies from now on."""
    with psycopg.connect(url) as session:
        session.execute("SELECT count(*), pg_current_xact_id() FROM jobs_queue")
        yield


def look(seen: Seen, url: str, processes: Sequence["subprocess.Popen[bytes]"]) -> int:
    """How many jobs wait now; notes that, the memory of the claimers and the sessions."""
    assert all(process.poll() is None for process in processes), "a claimer is gone: see what it printed"
    waiting = asked(url, WAITING)
    sessions = asked(url, "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'")
    memory = sum(resident(process.pid) for process in processes) / 2**20
    seen.looks.append((time.time(), memory, waiting, sessions))
    return waiting


def asked(url: str, question: str) -> int:
    with psycopg.connect(url, autocommit=True) as session:
        row = session.execute(question).fetchone()
        assert row
        return int(row[0])


def resident(pid: int) -> int:
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def measured_sizes(url: str) -> list[tuple[str, int, int, int]]:
    with psycopg.connect(url, autocommit=True) as session:
        return [(str(row[0]), *map(int, row[1:])) for row in session.execute(SIZE_OF)]  # type: ignore[misc]


def vacuum(url: str) -> None:
    with psycopg.connect(url, autocommit=True) as session:
        session.execute("VACUUM (ANALYZE)")


def measure(server: Postgres, options: argparse.Namespace) -> None:
    import benchmarks.job_handlers  # noqa: F401  registers the kinds
    from benchmarks import fill
    from benchmarks.databases import Databases
    from benchmarks.streams import OURS, serving, session
    from benchmarks.visitors import Visitors

    databases, url = Databases(server.url()), server.url("load")
    try:
        with databases.fresh("load"), tempfile.TemporaryDirectory(prefix="jobyard-load-") as name:
            began = time.time()
            fill.finished(options.finished)
            fill.count_right()
            print(f"{options.finished:,} finished jobs were filled in within {time.time() - began:.0f} s", flush=True)
            os.environ["DATABASE_URL"] = url
            seen, cookie = Seen(time.time()), session()
            seen.sizes["before"] = measured_sizes(url)
            with serving(OURS) as web, reaper(url), claimers(url, options.connections, Path(name)) as processes:
                visitors = Visitors(web, cookie, options.readers)
                visitors.start()
                try:
                    visitors.ready.wait(120)
                    enqueue_all(options.jobs, seen, url, processes)
                finally:
                    visitors.stop()
            seen.sizes["after"] = measured_sizes(url)
            vacuum(url)
            seen.sizes["after vacuum"] = measured_sizes(url)
            print("\n".join(table(seen, Path(name), visitors)), flush=True)
    finally:
        databases.disconnect_all()


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.load", description=__doc__.partition("\n")[0])
    parser.add_argument("--jobs", type=int, default=1_000_000, help="through the queue (default: %(default)s)")
    parser.add_argument("--finished", type=int, default=5_000_000, help="rows that lie there (default: %(default)s)")
    parser.add_argument("--connections", type=int, default=50, help="that claim and finish (default: %(default)s)")
    parser.add_argument("--readers", type=int, default=200, help="of live streams (default: %(default)s)")
    options = parser.parse_args()
    os.environ |= {"ALLOWED_HOSTS": "localhost", "HTTPS": "0"}
    with Postgres({**BENCHMARK_CONF, "max_wal_size": "2GB"}) as server:
        boot(server)
        measure(server, options)


if __name__ == "__main__":
    main()
