"""Round trips: every statement that claiming and finishing one job takes, what it costs, and why it is needed."""

import re
from collections.abc import Callable, Sequence
from statistics import median
from typing import TypeVar

from benchmarks.databases import Databases
from benchmarks.findings import Figure, Findings
from benchmarks.measure import Spread, cpu_timed, timed
from benchmarks.plans import plan_of, reads_too_much
from benchmarks.scale import Scale
from benchmarks.statements import Statement, recorded
from jobs.handlers.base import ClaimedJob
from jobs.lifecycle.claim import claim
from jobs.lifecycle.enqueue import enqueue
from jobs.lifecycle.finish import complete
from jobs.lifecycle.sql.bound import AND
from jobs.lifecycle.workers import register
from jobs.models import Worker
from jobs.process_identity import this_process

MOVED = r"\s*WITH moved AS \(\s*UPDATE \W?jobs_job\W SET \W?status\W = '{}'"
# Keep this table true: a statement that fits no line is printed as "not explained".
REASONS = (
    ("BEGIN", r"BEGIN", "row, counters, event and worker change together or not at all"),
    (
        "lock a ready job",
        r"SELECT.*\"priority\" DESC.*SKIP LOCKED",
        "two workers never get the same; pauses and GPU rules too; and is something due?",
    ),
    ("promote due jobs", r"SELECT.*'scheduled'.*SKIP LOCKED", "scheduled jobs stay out of the ready index until due"),
    ("use the claim id up", r"INSERT INTO \W?jobs_claim\W", "a repeated claim call must not take a second job"),
    ("assign", MOVED.format("running"), "claim id, worker, lease, start mark; and the event, from the same rows"),
    (
        "write the outcome",
        MOVED.format("completed"),
        "the fence is its condition; status, event (a repeated finish finds its answer there) and counts together",
    ),
    ("count", r"INSERT INTO \W?jobs_queuedelta\W", "depths without counting rows"),
    ("busy or idle", r"UPDATE \W?jobs_worker\W", "who has a free slot: shown, and asked by the GPU rule"),
    ("COMMIT", r"COMMIT", "durable before it is answered: one fsync"),
)
Seen = TypeVar("Seen")


def measure(databases: Databases, scale: Scale) -> Findings:
    found = Findings("Round trips of one job, on the full table")
    with databases.using("full"):
        worker = register("bench", this_process())
        for _ in range(3):
            one_job(worker, timed)
        # Recording takes time itself, so what a call takes as a whole is measured without it, in turns.
        runs = [
            (one_job(worker, timed), one_job(worker, cpu_timed), one_job(worker, recorded)) for _ in range(scale.claims)
        ]
        for place, name in enumerate(("claim", "finish")):
            clock(found, f"{name}: time", [walls[place] for walls, _, _ in runs])
            clock(found, f"{name}: CPU time of this process", [cpu[place] for _, cpu, _ in runs])
            explain(found, name, [walls[place] for walls, _, _ in runs], [sent[place] for _, _, sent in runs])
    return found


def one_job(worker: Worker, observe: Callable[[Callable[[], object]], Seen]) -> tuple[Seen, Seen]:
    """What was observed of its claim and of its finish."""
    enqueue("bench.noop", {"video": 1}, queue="bench")
    taken: list[ClaimedJob] = []
    claimed = observe(lambda: taken.extend(claim(worker, ["bench"])))
    finished = observe(lambda: complete(taken[0].claim, {"renditions": 3}))
    return claimed, finished


def clock(found: Findings, name: str, seconds: list[float]) -> None:
    found.figures.append(Figure(name, Spread.of(seconds).times(1e3), "ms"))


def explain(found: Findings, name: str, walls: Sequence[float], runs: Sequence[Sequence[Statement]]) -> None:
    """A line per statement with its median time and its plan, and one for what is left: Python."""
    usual = runs[-1]
    same = [run for run in runs if len(run) == len(usual)]
    number, took = float(len(usual)), median(walls)
    found.figures.append(Figure(f"{name}: round trips", Spread(number, number, number), ""))
    spent = 0.0
    for place, statement in enumerate(usual):
        seconds = median(run[place].seconds for run in same)
        spent += seconds
        first, *others = statement.sql.split(AND)
        found.lines.append(line(name, first, f"{seconds * 1e3:6.2f} ms"))
        found.lines += [line(name, other, "  with it") for other in others]
    found.lines.append(
        f"{name:<7}{max(0.0, took - spent) * 1e3:6.2f} ms  {'Python':<20} the driver, and values made of rows"
    )


def line(name: str, sql: str, took: str) -> str:
    """What is sent in one round trip has one time, in its first line."""
    label, why = reason_of(sql)
    plan = plan_of(sql)
    warning = "  <- reads a growing table whole" if reads_too_much(plan) else ""
    shown = f"  [{plan}]{warning}" if plan else ""
    return f"{name:<7}{took}  {label:<20} {why}{shown}"


def reason_of(sql: str) -> tuple[str, str]:
    for label, pattern, why in REASONS:
        if re.match(pattern, sql, re.DOTALL):
            return label, why
    return sql[:60], "not explained"
