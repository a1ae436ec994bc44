"""Depths: how long it takes to say what waits in every queue, in units of the shortest question there is."""

from statistics import median

from django.db import connection

from benchmarks import fill
from benchmarks.databases import Databases, settle
from benchmarks.findings import Figure, Findings
from benchmarks.measure import Spread, interleave, timed
from benchmarks.scale import Scale
from benchmarks.statements import recorded
from jobs.lifecycle.counts import fold
from jobs.selectors.depth import queue_depths

AT_MOST = 50
RECORDED = 20
WHAT = {
    "SELECT queuetotal": "totals, and deltas not yet folded in",
    "WITH job": "the first ready job of each queue and priority: since when it waits",
    "SELECT job": "scheduled jobs that are due but not yet promoted",
    "SELECT CLOCK_TIMESTAMP()": "the database's clock",
    "SELECT queue": "which queues are paused",
}


def measure(databases: Databases, scale: Scale) -> Findings:
    found = Findings(f"Depth of all queues, {scale.finished:,} finished rows")
    with databases.using("full"):
        fold()
        settle()
        compare(found, "counters folded", scale, at_most=AT_MOST)
        where_the_time_goes(found)
        fill.deltas(scale.deltas)
        settle()
        compare(found, f"{scale.deltas:,} deltas unfolded", scale)
        took = timed(fold)
        found.figures.append(Figure(f"folding {scale.deltas:,} deltas", Spread(took, took, took), "s"))
        compare(found, "folded, not yet vacuumed", scale)
    return found


def compare(found: Findings, state: str, scale: Scale, **bar: float) -> None:
    rounds = interleave(
        {"depths": lambda: timed(queue_depths), "select 1": lambda: timed(select_one)},
        rounds=scale.rounds,
        per_round=30,
    )
    if bar:
        found.milliseconds("SELECT 1", rounds, "select 1")
    found.milliseconds(f"depths, {state}", rounds, "depths")
    found.ratio("  in units of SELECT 1", rounds, "depths", "select 1", **bar)
    found.samples[state] = rounds.as_microseconds()


def select_one() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")
        cursor.fetchone()


def where_the_time_goes(found: Findings) -> None:
    runs = [recorded(queue_depths) for _ in range(RECORDED)]
    wall = median([timed(queue_depths) for _ in range(RECORDED)])
    spent = 0.0
    for place, statement in enumerate(runs[0]):
        seconds = median(run[place].seconds for run in runs)
        spent += seconds
        found.lines.append(f"{seconds * 1e3:6.2f} ms  {WHAT.get(statement.short, statement.short)}")
    found.lines.append(f"{max(0.0, wall - spent) * 1e3:6.2f} ms  Python: the ORM builds statements and reads rows")
