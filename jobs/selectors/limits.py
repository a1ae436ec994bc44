"""What limits there are, how full they are, who holds their places, and why a job waits."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import Count

from jobs.models import Job, Limit, Queue, Worker
from jobs.readable import clock_time
from jobs.selectors.clock import database_now
from jobs.states import FOR_LATER, Hold, LimitTarget, Status

COLUMN = {
    LimitTarget.QUEUE: "queue", LimitTarget.KIND: "kind", LimitTarget.SCOPE: "scope", LimitTarget.KEY: "limit_key",
}  # fmt: skip
MOST_HOLDERS = 10


@dataclass(frozen=True)
class LimitState:
    """A limit, with how many of its jobs run and wait for it; of one for each key, in all."""

    limit: Limit
    running: int
    held_back: int

    @property
    def is_full(self) -> bool:
        number = self.limit.max_running
        return number is not None and not self.limit.is_of_each and self.running >= number

    def as_dict(self) -> dict[str, Any]:
        limit = self.limit
        return {
            "target": limit.target,
            "name": limit.name,
            "max_running": limit.max_running,
            "rate_jobs": limit.rate_jobs,
            "rate_seconds": limit.rate_seconds,
            "window": limit.window,
            "time_zone": limit.time_zone,
            "paused": limit.paused,
            "reason": limit.reason,
            "opens_at": limit.opens_at,
            "running": self.running,
            "held_back": self.held_back,
        }


def limit_states(limits: Iterable[Limit] | None = None) -> list[LimitState]:
    return [state_of(limit) for limit in (Limit.objects.all() if limits is None else limits)]


def state_of(limit: Limit) -> LimitState:
    column, name = COLUMN[LimitTarget(limit.target)], limit.name
    running, held = Job.objects.running(), Job.objects.held_back()
    if limit.is_of_each:
        running = running.filter(**{f"{column}__startswith": name[:-1]}).exclude(**{column: ""})
        return LimitState(
            limit, running.count(), held.filter(held_by__startswith=f"{limit.target}:{name[:-1]}").count()
        )
    return LimitState(
        limit, running.filter(**{column: name}).count(), held.filter(held_by=f"{limit.target}:{name}").count()
    )


def why_waiting(jobs: Collection[Any]) -> dict[int, str]:
    """Of jobs that wait, but not for their time: what keeps each, where it is another job, a limit or a pause.

    A few statements for a page.
    """
    pending = [job for job in jobs if job.status == Status.PENDING]
    others = {job.pk: waits_for_others(job.waits_for) for job in pending if job.hold == Hold.WAITING}
    return others | kept_by_limits([job for job in pending if job.hold not in FOR_LATER])


def waits_for_others(number: int) -> str:
    return f"waits for {number:,} {'job' if number == 1 else 'jobs'}"


def kept_by_limits(waiting: Collection[Any]) -> dict[int, str]:
    if not waiting:
        return {}
    paused = dict(Queue.objects.filter(paused=True).values_list("name", "reason"))
    limits = list(Limit.objects.all())
    if not paused and not limits:
        return {}
    now, running = database_now(), running_by_name(waiting)
    told = {job.pk: told_of(job, paused, limits, running, now) for job in waiting}
    return {pk: reason for pk, reason in told.items() if reason}


def running_by_name(jobs: Collection[Any]) -> dict[str, int]:
    """How many run of what these jobs wait for."""
    names = {held_by_of(job) for job in jobs} - {""} | {f"queue:{job.queue}" for job in jobs}
    running: dict[str, int] = {}
    for target, column in COLUMN.items():
        values = [name.partition(":")[2] for name in names if name.startswith(f"{target}:")]
        if values:
            counted = Job.objects.running().filter(**{f"{column}__in": values}).order_by().values(column)
            rows = counted.annotate(jobs=Count("pk")).values_list(column, "jobs")
            running |= {f"{target}:{value}": number for value, number in rows}
    return running


def held_by_of(job: Any) -> str:
    return job.held_by if job.hold == Hold.LIMITED else ""


def told_of(job: Any, paused: dict[str, str], limits: list[Limit], running: dict[str, int], now: datetime) -> str:
    if job.queue in paused:
        return " ".join(filter(None, (f"queue {job.queue} is paused", paused[job.queue] and f"({paused[job.queue]})")))
    held_by = held_by_of(job) or f"queue:{job.queue}"
    target, _, value = held_by.partition(":")
    limit = best(limits, target, value)
    if limit is None:
        return ""
    number = running.get(held_by, 0)
    if limit.paused:
        return " ".join(filter(None, (f"{target} {value} is paused", limit.reason and f"({limit.reason})")))
    if limit.opens_at and limit.opens_at > now:
        return f"held back: {target} {value} opens {clock_time(limit.opens_at, now)}"
    if limit.max_running is not None and number >= limit.max_running:
        return f"held back: {number:,} of {limit.max_running:,} jobs of {target} {value} run"
    return ""


def best(limits: Iterable[Limit], target: str, value: str) -> Limit | None:
    own = [limit for limit in limits if limit.target == target and limit.covers(value)]
    return max(own, key=lambda limit: (not limit.is_of_each, len(limit.name)), default=None)


def who_holds(queues: Collection[str]) -> list[str]:
    """For each of these queues (none: all) that is full: which job holds it up, and on which machine and process."""
    full = Limit.objects.filter(target=LimitTarget.QUEUE, max_running__isnull=False)
    states = limit_states(full.filter(name__in=queues) if queues else full)
    return [sentence for state in states if state.is_full for sentence in holders_of(state)]


def holders_of(state: LimitState) -> list[str]:
    jobs = list(Job.objects.running().filter(queue=state.limit.name).order_by("pk")[:MOST_HOLDERS])
    workers = Worker.objects.in_bulk({job.worker_id for job in jobs})
    number = f"{state.running:,} of {state.limit.max_running:,}"
    return [f"Queue {state.limit.name} is at its limit ({number}): {held(job, workers)}." for job in jobs]


def held(job: Job, workers: dict[Any, Worker]) -> str:
    worker = workers.get(job.worker_id)
    where = f" on {worker.hostname}, pid {worker.pid}" if worker else ", whose row is gone"
    return f"job {job.pk} is held by {job.last_worker_name}{where}"
