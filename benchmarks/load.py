"""A long day in a few minutes: a million jobs by fifty connections beside five million finished ones, watched by many.

    python -m benchmarks.load                                     # the whole of it: 20 minutes, and 15 GB of disk
    python -m benchmarks.load --jobs 200000 --finished 500000     # scaled

For a minute a session is left idle in its transaction. No error may happen: it fails at once where a process
ends, and after its tables where a visitor was refused or a job was not done by its first attempt. What it found is
written to benchmarks/results.
"""

import argparse
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psycopg

from benchmarks.load_report import claims_of, findings
from benchmarks.load_seen import DONE, QUEUE, Running, Seen, asked, look, measured_sizes
from benchmarks.run import boot
from tests.postgres import BENCHMARK_CONF, Postgres

if TYPE_CHECKING:
    from benchmarks.visitors import Visitors

ROOT = Path(__file__).resolve().parent.parent
JOBS = 1_000_000  # of the whole of it
PROCESSES, LOOK, STALLED = 5, 2.0, 120.0
FORGOTTEN_FOR = 60.0  # seconds: what dies meanwhile stays in the way of every claim
AHEAD, BATCH = 20_000, 1_000  # jobs that wait at most, and that are enqueued by one call
SIZES = (100, 100, 100, 1_000, 1_000, 10_000)  # bytes of a payload


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
        codes = [process.wait(120) for process in started]
        assert not any(codes), f"a claimer failed: see what it printed; they ended with {codes}"


@contextmanager
def reaper(url: str) -> Iterator["subprocess.Popen[bytes]"]:
    """As every site has: it folds the counters, too."""
    command = [sys.executable, str(ROOT / "manage.py"), "reap_stale", "--loop", "10"]
    process = subprocess.Popen(command, env={**os.environ, "DATABASE_URL": url}, cwd=ROOT, stdout=subprocess.DEVNULL)
    try:
        yield process
    finally:
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0, "the reaper failed: see what it printed"


def enqueue_all(jobs: int, seen: Seen, url: str, running: Running) -> None:
    """Not further ahead than a little, as a site would; and for a minute somebody forgets a session."""
    from jobs import NewJob, enqueue_many

    with ExitStack() as stack:
        for begin in range(0, jobs, BATCH):
            enqueue_many(
                NewJob("bench.noop", {"text": "x" * SIZES[n % len(SIZES)]}, queue=QUEUE, priority=n % 3)
                for n in range(begin, min(begin + BATCH, jobs))
            )
            if begin >= jobs / 3 and not seen.idle_from:
                seen.idle_from = time.time()
                stack.enter_context(forgotten_session(url))
            if seen.idle_from and not seen.idle_until and time.time() >= seen.idle_from + FORGOTTEN_FOR:
                seen.idle_until = time.time()
                stack.close()
            if not seen.looks or time.time() > seen.looks[-1].at + LOOK:
                await_claims(AHEAD, seen, url, running)
    seen.idle_until = seen.idle_until or time.time()
    await_claims(0, seen, url, running)


def await_claims(most: int, seen: Seen, url: str, running: Running) -> None:
    """Until so many jobs are left; if nobody claims any for minutes, something is wrong."""
    left, deadline = look(seen, url, running), time.monotonic() + STALLED
    while left > most:
        assert time.monotonic() < deadline, f"{left} jobs wait, and for {STALLED:g} s nobody has taken one"
        time.sleep(LOOK)
        now_left = look(seen, url, running)
        if now_left < left:
            left, deadline = now_left, time.monotonic() + STALLED


@contextmanager
def forgotten_session(url: str) -> Iterator[None]:
    """It has read and written, and keeps every row that dies from now on."""
    with psycopg.connect(url) as session:
        session.execute("SELECT count(*), pg_current_xact_id() FROM jobs_queue")
        yield


def vacuum(url: str) -> None:
    with psycopg.connect(url, autocommit=True) as session:
        session.execute("VACUUM (ANALYZE)")


def measure(server: Postgres, options: argparse.Namespace) -> dict[str, Any]:
    """What was found, as it is kept."""
    import benchmarks.job_handlers  # noqa: F401  registers the kinds
    from benchmarks import machine
    from benchmarks.databases import Databases

    began, databases, url = time.monotonic(), Databases(server.url()), server.url("load")
    try:
        about = machine.describe(databases)
        with databases.fresh("load"), tempfile.TemporaryDirectory(prefix="jobyard-load-") as name:
            fill_in(options.finished)
            os.environ["DATABASE_URL"] = url
            seen = Seen(time.time())
            seen.sizes["before"] = measured_sizes(url)
            visitors = day(url, seen, Path(name), options)
            seen.done = asked(url, DONE)
            seen.sizes["after"] = measured_sizes(url)
            vacuum(url)
            seen.sizes["after vacuum"] = measured_sizes(url)
            found = findings(seen, claims_of(Path(name)), visitors, options.jobs)
    finally:
        databases.disconnect_all()
    about["machine"]["load_at_the_end"] = machine.load()
    seconds = round(time.monotonic() - began)
    return {**about, "scale": vars(options), "seconds": seconds, "findings": [found.as_dict()]}


def fill_in(finished: int) -> None:
    from benchmarks import fill

    began = time.time()
    fill.finished(finished)
    fill.count_right()
    print(f"{finished:,} finished jobs were filled in within {time.time() - began:.0f} s", flush=True)


def day(url: str, seen: Seen, folder: Path, options: argparse.Namespace) -> "Visitors":
    from benchmarks.streams import OURS, serving, session
    from benchmarks.visitors import Visitors

    cookie = session()
    with serving(OURS) as web, reaper(url) as reaping, claimers(url, options.connections, folder) as claiming:
        running = {"claimers": claiming, "web": [web.process], "reaper": [reaping]}
        visitors = Visitors(web, cookie, options.readers)
        visitors.start()
        try:
            visitors.wait_until_ready()
            enqueue_all(options.jobs, seen, url, running)
        finally:
            visitors.stop()
    return visitors


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.load", description=__doc__.partition("\n")[0])
    parser.add_argument("--jobs", type=int, default=JOBS, help="through the queue (default: %(default)s)")
    parser.add_argument("--finished", type=int, default=5_000_000, help="rows that lie there (default: %(default)s)")
    parser.add_argument("--connections", type=int, default=50, help="that claim and finish (default: %(default)s)")
    parser.add_argument("--readers", type=int, default=200, help="of live streams (default: %(default)s)")
    options = parser.parse_args()
    os.environ |= {"ALLOWED_HOSTS": "localhost", "HTTPS": "0"}
    with Postgres({**BENCHMARK_CONF, "max_wal_size": "2GB"}) as server:
        boot(server)
        from benchmarks import report

        result = measure(server, options)
        (found,) = result["findings"]
        print("\n".join(found["lines"]), flush=True)
        suffix = "-load" if options.jobs == JOBS else f"-load-{options.jobs}"
        print(f"Written to {os.path.relpath(report.save(result, suffix))}", flush=True)
    if failures := found["samples_us"]["failures"]:
        raise SystemExit(f"FAILED: {len(failures)} times something was not as it should be.")


if __name__ == "__main__":
    main()
