"""Enqueueing: one by one, each in a commit of its own, against a thousand per call, against PostgreSQL alone."""

from collections.abc import Iterator

from benchmarks.databases import Databases
from benchmarks.findings import Figure, Findings
from benchmarks.measure import Spread, interleave, timed
from benchmarks.memory import peak_growth
from benchmarks.pgbench import Limit
from benchmarks.scale import Scale
from jobs.lifecycle.enqueue import enqueue
from jobs.lifecycle.enqueue_many import enqueue_many
from jobs.lifecycle.new_job import NewJob

SINGLES = 50
BATCH = 1000
SIDES = {
    "one": "enqueue, one per commit",
    "many": f"enqueue_many, {BATCH} per call",
    "limit one": "pgbench: insert, one per commit",
    "limit many": f"pgbench: insert, {BATCH} per commit",
}


def measure(databases: Databases, limit: Limit, scale: Scale) -> Findings:
    found = Findings("Enqueue")
    with databases.fresh("enqueue"):
        rounds = interleave(
            {
                "one": singles,
                "many": lambda: timed(lambda: enqueue_many(new_jobs(BATCH))) / BATCH,
                "limit one": lambda: limit.seconds_per_job("insert_one", runs=SINGLES * 4),
                "limit many": lambda: limit.seconds_per_job("insert_1000", runs=10, jobs_per_run=BATCH),
            },
            rounds=scale.rounds,
            per_round=3,
            warm_up=1,
        )
        for side, name in SIDES.items():
            found.per_second(name, rounds, side)
        found.ratio("enqueue : enqueue_many, time per job", rounds, "one", "many", at_least=10)
        found.samples["seconds per job"] = rounds.as_microseconds()
        stream(found, scale.stream)
    return found


def singles() -> float:
    def enqueue_them() -> None:
        for new in new_jobs(SINGLES):
            enqueue(new.kind, new.payload, queue=new.queue)

    return timed(enqueue_them) / SINGLES


def new_jobs(number: int) -> Iterator[NewJob]:
    return (NewJob("bench.noop", {"video": n, "path": f"/media/library/{n}.mkv"}, queue="bench") for n in range(number))


def stream(found: Findings, number: int) -> None:
    """One call with a generator that never has all its jobs in memory at once."""
    seconds: list[float] = []
    grown = peak_growth(lambda: seconds.append(timed(lambda: enqueue_many(new_jobs(number)))))
    rate = number / seconds[0]
    found.figures.append(Figure(f"enqueue_many, one call with {number:,}", Spread(rate, rate, rate), "/s"))
    if grown is not None:
        found.figures.append(Figure(f"  memory it took beyond that of {BATCH}", Spread(grown, grown, grown), "MiB"))
