"""Whether a worker is well, for whoever restarts those that are not."""

from dataclasses import dataclass
from datetime import datetime

from jobs.conf import conf
from jobs.models import Worker, WorkerQuerySet
from jobs.process_identity import ProcessIdentity, proven_dead, this_process
from jobs.readable import human_duration
from jobs.selectors.clock import database_now
from jobs.states import LIVE_WORKER, WorkerStatus


@dataclass(frozen=True)
class WorkerCheck:
    ok: bool
    reason: str
    worker: str = ""
    age: float | None = None  # seconds since it was heard of


def check_named(name: str) -> WorkerCheck:
    return best_of(Worker.objects.filter(name=name), f"No worker of the name {name} has ever registered.")


def check_here(here: ProcessIdentity | None = None) -> WorkerCheck:
    """By boot and process namespace where the kernel tells them: a container's name may be used again."""
    here = here or this_process()
    if here.provable:
        nearby = Worker.objects.filter(boot_id=here.boot_id, pid_namespace=here.pid_namespace)
    else:
        nearby = Worker.objects.filter(hostname=here.hostname)
    return best_of(nearby, f"No worker of this machine ({here.hostname}) has registered.", here)


def best_of(workers: WorkerQuerySet, none: str, here: ProcessIdentity | None = None) -> WorkerCheck:
    """One that is well, if any is; else what is wrong with the newest."""
    here, now = here or this_process(), database_now()
    found = [checked(worker, here, now) for worker in workers.order_by("-registered_at")[:100]]
    if not found:
        return WorkerCheck(False, none)
    return next((check for check in found if check.ok), found[0])


def checked(worker: Worker, here: ProcessIdentity, now: datetime) -> WorkerCheck:
    age = round((now - (worker.last_heartbeat or worker.registered_at)).total_seconds(), 3)
    ago = human_duration(age)
    if proven_dead(worker.process, here):
        problem = f"the process of worker {worker.name} (pid {worker.pid}) is gone"
    elif worker.status == WorkerStatus.DISABLED:
        problem = f"worker {worker.name} is disabled: `manage.py enable_worker {worker.name}`"
    elif worker.status not in LIVE_WORKER:
        problem = f"worker {worker.name} is {worker.status}; it was last heard of {ago} ago"
    elif age > conf.WORKER_OFFLINE_THRESHOLD:
        problem = f"worker {worker.name} has been silent for {ago}, longer than JOBS_WORKER_OFFLINE_THRESHOLD"
    else:
        return WorkerCheck(
            True, f"Worker {worker.name} is {worker.status}; it was heard of {ago} ago.", worker.name, age
        )
    return WorkerCheck(False, problem[0].upper() + problem[1:] + ".", worker.name, age)
