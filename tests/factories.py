"""Short ways to the rows a test needs, all through the verbs, and time that passes when a test says so."""

from collections import Counter
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.db.models import DateTimeField, F, Model

from jobs.handlers.base import ClaimRef, Outcome
from jobs.handlers.periodic import Declaration
from jobs.lifecycle.cancel import cancel
from jobs.lifecycle.claim import claim
from jobs.lifecycle.enqueue import enqueue
from jobs.lifecycle.finish import finish_one
from jobs.lifecycle.heartbeat import heartbeat
from jobs.lifecycle.periodic.edit import add
from jobs.lifecycle.workers import register
from jobs.models import (
    Claim,
    Job,
    JobEvent,
    Limit,
    MinuteTally,
    Output,
    PeriodicJob,
    PeriodicTick,
    QueueDelta,
    QueueTotal,
    ServiceBeat,
    Turn,
    WebhookDelivery,
    WebhookHost,
    Worker,
)
from jobs.process_identity import ProcessIdentity
from jobs.selectors.clock import database_now
from jobs.states import Status, bucket_of

# A process of another machine: no reaper can prove anything about it.
ELSEWHERE = ProcessIdentity("elsewhere", 4711)
AGEING: tuple[type[Model], ...] = (
    Job, Worker, Claim, JobEvent, Turn, QueueDelta, Limit, WebhookDelivery, WebhookHost, Output,
)  # fmt: skip


def make_worker(
    name: str = "worker",
    *,
    gpu: bool = False,
    beaten: bool = True,
    process: ProcessIdentity = ELSEWHERE,
    **options: Any,
) -> Worker:
    """A registered worker; it has beaten once (and is idle) unless told otherwise."""
    worker = register(name, process, capabilities={"gpu": gpu}, **options)
    if beaten:
        heartbeat(worker.pk)
        worker.refresh_from_db()
    return worker


def make_job(kind: str = "test.noop", payload: dict[str, Any] | None = None, **options: Any) -> Job:
    """A pending job; the options are enqueue's."""
    return reload(enqueue(kind, payload, **options).job_id)


def claimed(worker: Worker | None = None, job: Job | None = None, *, start: bool = True, **options: Any) -> ClaimRef:
    """The claim of `worker` on `job` (or on a new one, made with enqueue's options), started unless told otherwise."""
    job = job or make_job(**options)
    taken = claim(worker or make_worker(), [job.queue], start=start)
    assert [each.id for each in taken] == [job.pk], f"claimed {taken} where only job {job.pk} should be ready"
    return taken[0].claim


def job_in(status: Status, **options: Any) -> Job:
    """A job that came to `status` by the verbs; the options are enqueue's."""
    job = make_job(**options)
    if status == Status.CANCELLED:
        cancel(job.pk)
    elif status != Status.PENDING:
        ref = claimed(job=job)
        if status == Status.COMPLETED:
            finish_one(Outcome.completed(ref))
        elif status == Status.FAILED:
            finish_one(Outcome.failed(ref, "broken", fatal=True))
    return reload(job)


def make_periodic(name: str = "nightly", schedule: str = "every 1h", **terms: Any) -> PeriodicJob:
    """A periodic job made by hand; the terms are those of a declaration."""
    return add(Declaration(name, **{"kind": "test.noop", "schedule": schedule, **terms}))


def make_due(periodic: PeriodicJob, since: timedelta = timedelta(0)) -> datetime:
    """Let the last tick that has passed be due, or, after an absence, all since the one before so long ago."""
    now, schedule = database_now(), periodic.when()
    first = schedule.latest(now - timedelta(days=400), now - since, 1)[-1]
    PeriodicJob.objects.filter(pk=periodic.pk).update(next_at=first)
    return first


def ticks_of(periodic: PeriodicJob) -> list[str]:
    """What became of its ticks, oldest first."""
    ticks = PeriodicTick.objects.filter(periodic=periodic).order_by("tick_at")
    return [tick.outcome for tick in ticks]


def end(job: Job, outcome: Callable[..., Outcome] = Outcome.completed, **terms: Any) -> Job:
    """Let a ready job be run, and end so; for a failure, say `error=`."""
    finish_one(outcome(claimed(make_worker(), job), **terms))
    return reload(job)


def completed_at_second_try(**options: Any) -> Job:
    """A job whose first attempt failed ("broken once"); the options are enqueue's."""
    first = claimed(make_worker("first"), **options)
    finish_one(Outcome.failed(first, "broken once", retry_after=0)._replace(traceback="where it broke"))
    return end(reload(first))


def reload(job: Job | ClaimRef | int) -> Job:
    """The job as the database has it now."""
    return Job.objects.get(pk=id_of(job))


def id_of(job: Job | ClaimRef | int) -> int:
    if isinstance(job, ClaimRef):
        return job.job_id
    return job.pk if isinstance(job, Job) else job


def lease_end(job: Job | ClaimRef | int) -> datetime:
    """When the lease of a running job is over."""
    end = reload(job).lease_expires_at
    assert end, "only a running job has a lease"
    return end


def events_of(job: Job | ClaimRef | int) -> list[str]:
    """The names of a job's events, oldest first."""
    return list(JobEvent.objects.filter(job_id=id_of(job)).order_by("id").values_list("name", flat=True))


def events_of_worker(worker: Worker | UUID) -> list[str]:
    worker_id = worker.pk if isinstance(worker, Worker) else worker
    events = JobEvent.objects.filter(job_id=None, worker_id=worker_id)
    return list(events.order_by("id").values_list("name", flat=True))


def real_counts() -> dict[tuple[str, str], int]:
    """Jobs per queue and bucket, counted one by one."""
    rows = Job.objects.values_list("queue", "status", "hold")
    return dict(Counter((queue, bucket_of(status, hold).value) for queue, status, hold in rows))


def kept_counts() -> dict[tuple[str, str], int]:
    """Jobs per queue and bucket, as the counters have them."""
    kept: Counter[tuple[str, str]] = Counter()
    for counters in (QueueTotal.objects, QueueDelta.objects.exclude(bucket="")):
        for queue, bucket, jobs in counters.values_list("queue", "bucket", "jobs"):
            kept[queue, bucket] += jobs
    return {key: jobs for key, jobs in kept.items() if jobs}


def noted_deltas() -> dict[tuple[str, ...], int]:
    """What was noted of counts and of events, whether by one row or by two."""
    noted: Counter[tuple[str, ...]] = Counter()
    for queue, bucket, kind, event, jobs in QueueDelta.objects.values_list("queue", "bucket", "kind", "event", "jobs"):
        noted[queue, bucket] += jobs if bucket else 0
        noted[queue, kind, event] += jobs if event else 0
    return {what: jobs for what, jobs in noted.items() if jobs}


def age(seconds: float, *, outage: bool = False) -> None:
    """Let time pass: every moment in the database moves back by so much, one UPDATE per table.

    Meanwhile nobody of the test did anything, but the database was up and others beat; with `outage=True` it was
    silent, so that on PostgreSQL the next reaper finds itself in the grace.
    """
    for model in AGEING:
        shift(model, seconds)
    MinuteTally.objects.update(minute=F("minute") - int(seconds // 60))
    for limit in Limit.objects.all():
        starts = [[when - seconds, jobs] for when, jobs in limit.starts]
        Limit.objects.filter(pk=limit.pk).update(starts=starts)
    shift(ServiceBeat, seconds, leaving=() if outage else ("beat_at",))


def shift(model: type[Model], seconds: float, leaving: tuple[str, ...] = ()) -> None:
    moments = [field.name for field in model._meta.concrete_fields if isinstance(field, DateTimeField)]
    back = timedelta(seconds=seconds)
    model._default_manager.update(**{name: F(name) - back for name in moments if name not in leaving})
