"""Draining: jobs claimed and finished per second through the verbs, beside what PostgreSQL alone does of it."""

from benchmarks.databases import Databases, settle
from benchmarks.enqueue import new_jobs
from benchmarks.findings import Findings
from benchmarks.measure import interleave, timed
from benchmarks.pgbench import Limit
from benchmarks.scale import Scale
from jobs.handlers.base import Outcome
from jobs.lifecycle.claim import claim
from jobs.lifecycle.enqueue_many import enqueue_many
from jobs.lifecycle.finish import finish
from jobs.lifecycle.workers import register
from jobs.models import Worker
from jobs.process_identity import this_process

BATCH = 100
SIDES = {
    "one": "claim 1, finish 1",
    "hundred": f"claim {BATCH}, finish {BATCH}",
    "limit one": "pgbench: claim 1, finish 1",
    "limit hundred": f"pgbench: claim {BATCH}, finish {BATCH}",
}


def measure(databases: Databases, limit: Limit, scale: Scale) -> Findings:
    found = Findings("Drain, one process, no handler")
    batches, singles = scale.drain // BATCH, scale.drain // 50
    with databases.fresh("drain"):
        worker = register("bench", this_process(), slots=BATCH)
        rounds = interleave(
            {
                "one": lambda: drained(worker, singles, 1),
                "hundred": lambda: drained(worker, batches, BATCH),
                "limit one": lambda: limit.seconds_per_job("claim_finish_one", runs=singles * 4, preload=True),
                "limit hundred": lambda: limit.seconds_per_job(
                    "claim_finish_100", runs=batches * 4, jobs_per_run=BATCH, preload=True
                ),
            },
            rounds=scale.rounds,
            per_round=1,
            warm_up=1,
        )
    for side, name in SIDES.items():
        found.per_second(name, rounds, side)
    found.ratio(f"Jobyard : pgbench, time per job, {BATCH} at once", rounds, "hundred", "limit hundred")
    found.samples["seconds per job"] = rounds.as_microseconds()
    return found


def drained(worker: Worker, times: int, limit: int) -> float:
    """Seconds per job to claim and finish so many times; the jobs are enqueued before the clock starts."""
    enqueue_many(new_jobs(times * limit))
    settle()

    def drain() -> None:
        for _ in range(times):
            claim_and_finish(worker, limit)

    return timed(drain) / (times * limit)


def claim_and_finish(worker: Worker, limit: int) -> None:
    taken = claim(worker, ["bench"], limit)
    assert len(taken) == limit, f"claimed {len(taken)} of {limit}"
    finish([Outcome.completed(job.claim, None) for job in taken])
