"""Where the time of one job goes: the CPU time of each process that has to do with it, while a worker drains."""

from benchmarks.databases import Databases, settle
from benchmarks.enqueue import new_jobs
from benchmarks.findings import Figure, Findings
from benchmarks.measure import Spread
from benchmarks.processes import RunningWorker, cpu_seconds_of, family_of, wait_for
from benchmarks.scale import Scale
from jobs.lifecycle.enqueue_many import enqueue_many
from jobs.models import Job
from tests.postgres import Postgres

PARTS = ("the supervisor", "the nursery", "the child")
SERVER = "PostgreSQL"


def measure(server: Postgres, databases: Databases, scale: Scale) -> Findings:
    found = Findings("CPU time of one job that does nothing")
    rounds = [one_drain(server, databases, scale.worker_drain) for _ in range(scale.rounds)]
    for name in (*PARTS, SERVER):
        found.figures.append(Figure(name, Spread.of([each[name] for each in rounds]), "µs"))
    found.figures.append(Figure("all of them", Spread.of([sum(each.values()) for each in rounds]), "µs"))
    found.samples["rounds"] = rounds
    return found


def one_drain(server: Postgres, databases: Databases, jobs: int) -> dict[str, float]:
    """Microseconds of each process for each job, from when a tenth is done: no start of a process is in it."""
    with databases.fresh("worker"):
        made = enqueue_many(new_jobs(jobs)).created
        settle()
        with RunningWorker(server, "worker", "--no-reaper", "--processes", "1") as worker:
            wait_for(lambda: is_done(made[jobs // 10]))
            before, done = usage(server, worker), completed()
            wait_for(lambda: is_done(made[-1]))
            after, number = usage(server, worker), completed() - done
    return {name: (after[name] - before[name]) / number * 1e6 for name in after}


def usage(server: Postgres, worker: RunningWorker) -> dict[str, float]:
    supervisor, nursery, child = worker.family()
    seconds = dict(zip(PARTS, map(cpu_seconds_of, (supervisor, nursery, child)), strict=True))
    return {**seconds, SERVER: sum(map(cpu_seconds_of, family_of(server.pid)))}


def is_done(job_id: int) -> bool:
    return Job.objects.filter(pk=job_id, status="completed").exists()


def completed() -> int:
    return Job.objects.filter(status="completed").count()
