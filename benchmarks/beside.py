"""A worker beside millions of other rows: the same jobs are drained on an empty table and on a full one, in turns."""

from functools import partial

from django.db import connection

from benchmarks.databases import Databases, execute
from benchmarks.findings import Findings
from benchmarks.measure import interleave
from benchmarks.processes import RunningWorker, wait_for
from benchmarks.scale import Scale
from jobs.lifecycle.enqueue_many import enqueue_many
from jobs.lifecycle.new_job import NewJob
from jobs.models import Job
from tests.postgres import Postgres

TOOK = "SELECT extract(epoch FROM max(finished_at) - min(started_at)) FROM jobs_job WHERE id BETWEEN %s AND %s"
URGENT = 100  # so that these are drained before all that lies in their queue


def measure(server: Postgres, databases: Databases, scale: Scale) -> Findings:
    found = Findings(
        f"Drain beside {scale.finished:,} finished, {scale.waiting:,} pending, {scale.scheduled:,} scheduled and "
        f"{scale.elsewhere:,} pending elsewhere"
    )
    rounds = interleave(
        {name: partial(drained, server, databases, name, scale.beside) for name in ("empty", "full")},
        rounds=scale.rounds,
        per_round=1,
        warm_up=0,
    )
    found.per_second("drain, almost empty table", rounds, "empty")
    found.per_second("drain, full table", rounds, "full")
    found.ratio("drain, almost empty : full, time per job", rounds, "empty", "full", at_least=0.8)
    found.samples["seconds per job"] = rounds.as_microseconds()
    return found


def drained(server: Postgres, databases: Databases, database: str, number: int) -> float:
    """Seconds per job, by the database's clock; what was drained before lies there dead, as it would."""
    with databases.using(database):
        made = enqueue_many(NewJob("bench.noop", queue="bench", priority=URGENT) for _ in range(number)).created
        execute("ANALYZE jobs_job")  # as autovacuum does after a while
        mine = Job.objects.filter(pk__gte=made[0], pk__lte=made[-1])
        with RunningWorker(server, database, "--no-reaper", "--queue", "bench"):
            wait_for(lambda: not mine.filter(status__in=("pending", "running")).exists())
        with connection.cursor() as cursor:
            cursor.execute(TOOK, [made[0], made[-1]])
            return float(cursor.fetchone()[0]) / number
