"""Claiming: does it take longer beside a million finished, a million scheduled and many jobs of another queue?"""

from collections.abc import Callable

from benchmarks.databases import Databases
from benchmarks.findings import Findings
from benchmarks.measure import interleave, timed
from benchmarks.scale import Scale
from jobs.handlers.base import ClaimedJob, Outcome
from jobs.lifecycle.claim import claim
from jobs.lifecycle.enqueue_many import enqueue_many
from jobs.lifecycle.finish import finish
from jobs.lifecycle.new_job import NewJob
from jobs.lifecycle.workers import register
from jobs.models import Worker
from jobs.process_identity import this_process

BATCH = 100


def measure(databases: Databases, scale: Scale) -> Findings:
    found = Findings("Claim beside a full table")
    workers = {}
    for name in ("empty", "full"):
        with databases.using(name):
            workers[name] = register("bench", this_process(), queues=["bench"])
    for limit, samples in ((1, scale.claims), (BATCH, max(3, scale.claims // 10))):
        rounds = interleave(
            {name: side(databases, name, worker, limit) for name, worker in workers.items()},
            rounds=scale.rounds,
            per_round=samples,
        )
        what = "claim of one job" if limit == 1 else f"claim of {limit} jobs"
        found.milliseconds(f"{what}, almost empty table", rounds, "empty")
        found.milliseconds(f"{what}, full table", rounds, "full")
        found.ratio(f"{what}, full : almost empty", rounds, "full", "empty", at_most=1.5)
        found.samples[what] = rounds.as_microseconds()
    return found


def side(databases: Databases, database: str, worker: Worker, limit: int) -> Callable[[], float]:
    """Times one claim; what it claims is enqueued just before and finished just after, off the clock."""

    def sample() -> float:
        taken: list[ClaimedJob] = []
        with databases.using(database):
            enqueue_many(NewJob("bench.noop", {"video": n}, queue="bench") for n in range(limit))
            seconds = timed(lambda: taken.extend(claim(worker, ["bench"], limit)))
            assert len(taken) == limit, f"claimed {len(taken)} of {limit}"
            finish([Outcome.completed(job.claim, {"renditions": 3}) for job in taken])
        return seconds

    return sample
