"""What is written down while `benchmarks.load` runs: looks at the queue, the sessions, and who has how much memory."""

import os
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import psycopg

QUEUE = "load"
WAITING = f"""
SELECT COALESCE(sum(jobs), 0) FROM
    (SELECT queue, bucket, jobs FROM jobs_queuetotal UNION ALL SELECT queue, bucket, jobs FROM jobs_queuedelta) AS c
WHERE queue = '{QUEUE}' AND bucket IN ('pending', 'scheduled', 'running')
"""
DONE = f"SELECT count(*) FROM jobs_job WHERE queue = '{QUEUE}' AND status = 'completed' AND attempt = 1"
SESSIONS = "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'"
SIZE_OF = (
    "SELECT relname, pg_table_size(oid), pg_indexes_size(oid), "
    "COALESCE(pg_stat_get_dead_tuples(oid), 0) FROM pg_class "
    "WHERE relname IN ('jobs_job', 'jobs_jobevent', 'jobs_claim', 'jobs_queuedelta') ORDER BY 1"
)
Size = tuple[str, int, int, int]  # of which table, bytes of its rows and of its indexes, dead rows
Running = Mapping[str, Sequence["subprocess.Popen[bytes]"]]  # the processes that are watched, by what they are


@dataclass(frozen=True)
class Look:
    at: float
    memory: dict[str, float]  # MiB that are resident, by what the processes are
    waiting: int
    sessions: int


@dataclass
class Seen:
    began: float
    looks: list[Look] = field(default_factory=list)
    sizes: dict[str, list[Size]] = field(default_factory=dict)
    done: int = 0  # jobs that were completed by their first attempt
    idle_from: float = 0.0
    idle_until: float = 0.0


def look(seen: Seen, url: str, running: Running) -> int:
    """How many jobs wait now; notes that, the sessions, and the memory of those who run."""
    gone = [name for name, processes in running.items() if any(each.poll() is not None for each in processes)]
    assert not gone, f"of the {' and the '.join(gone)} one has ended: see what it printed"
    memory = {name: sum(resident(each.pid) for each in processes) / 2**20 for name, processes in running.items()}
    seen.looks.append(Look(time.time(), memory, asked(url, WAITING), asked(url, SESSIONS)))
    return seen.looks[-1].waiting


def asked(url: str, question: str) -> int:
    with psycopg.connect(url, autocommit=True) as session:
        row = session.execute(question).fetchone()
        assert row
        return int(row[0])


def resident(pid: int) -> int:
    """Bytes that a process and its children have in memory."""
    from benchmarks.processes import family_of  # knows the models, which need Django to be set up

    pages = (Path(f"/proc/{each}/statm").read_text().split()[1] for each in family_of(pid))
    return sum(map(int, pages)) * os.sysconf("SC_PAGE_SIZE")


def measured_sizes(url: str) -> list[Size]:
    with psycopg.connect(url, autocommit=True) as session:
        return [(str(row[0]), *map(int, row[1:])) for row in session.execute(SIZE_OF)]  # type: ignore[misc]
