"""Prune: retention in two steps. Ended jobs are marked stale after a while, and deleted a while after that."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import partial

from django.db.models import Exists, OuterRef, Q, QuerySet
from django.db.models.functions import Coalesce
from django.db.models.functions import Now as StatementNow

from jobs.conf import conf
from jobs.db import Now, transactional
from jobs.given import Among, GivenList
from jobs.lifecycle import breaker, counts, events, turns
from jobs.lifecycle.clear import delete
from jobs.lifecycle.ended_job import lock_ended, passed
from jobs.lifecycle.forget_deliveries import forget
from jobs.lifecycle.outputs.collect import collect_outputs
from jobs.lifecycle.sql.built_once import Statement, built_once, update
from jobs.lifecycle.sql.delete import delete_from
from jobs.lifecycle.sql.together import run_together
from jobs.lifecycle.sweep import Sweep, Unstopped
from jobs.lifecycle.worker_keys import VALID
from jobs.models import Job, JobEvent, JobQuerySet, WebhookDelivery, Worker, WorkerKey
from jobs.models.job_event import UNATTACHED
from jobs.states import EventName, Status, WorkerStatus

TURN = "prune"


@dataclass
class PruneResult:
    marked_stale: int = 0
    deleted: int = 0
    workers_deleted: int = 0
    webhooks_deleted: int = 0
    left: int = 0  # jobs whose hook failed, or that somebody held: the next run tries them again


def prune_once(go_on: Unstopped = lambda: True) -> PruneResult:
    """Mark, delete and tidy, in batches, until nothing is left to do, or `go_on` says no."""
    turns.note(TURN)
    result, sweep = PruneResult(), Sweep(go_on, note=partial(turns.note, TURN))
    for status, retention in retentions():
        result.marked_stale += sweep.run(ended_before(status, retention), "finished_at", partial(mark_stale, status))
    result.deleted = sweep.run(Job.objects.filter(long_stale()), "stale_at", delete_stale)
    result.left = sweep.left
    sweep.run(old_traces(), "at", delete_traces)
    if conf.RETENTION_WEBHOOKS:
        result.webhooks_deleted = sweep.run(old_webhooks(), "finished_at", delete_webhooks)
    collect_outputs(go_on)
    if go_on():
        result.workers_deleted = delete_gone_workers()
        breaker.forget_old()
        counts.fold()
        counts.forget_minutes(conf.RETENTION_STATISTICS)
        counts.forget_queues()
    return result


def prune_in_turn(go_on: Unstopped = lambda: True) -> PruneResult | None:
    """What each worker calls each interval: of all, one prunes. None where it was not its turn."""
    return prune_once(go_on) if turns.take(TURN, conf.PRUNE_INTERVAL) else None


def retentions() -> Iterator[tuple[Status, timedelta]]:
    for status, seconds in (
        (Status.COMPLETED, conf.RETENTION_COMPLETED),
        (Status.FAILED, conf.RETENTION_FAILED),
        (Status.CANCELLED, conf.RETENTION_CANCELLED),
    ):
        if seconds:
            yield status, timedelta(seconds=seconds)


def ended_before(status: Status, retention: timedelta) -> JobQuerySet:
    return Job.objects.filter(status=status, stale_at=None, finished_at__lt=StatementNow() - retention)


def mark_stale(status: Status, ids: Sequence[int]) -> int:
    """Jobs whose hook fails stay, and are tried again with the next run. What somebody holds is not waited for."""
    locked = lock_ended(ids, Q(status=status, stale_at=None))
    ids = [job.id for job in passed(locked, "on_stale")]
    if ids:
        run_together([mark().bound(ids=ids), events.of_jobs(ids, EventName.STALE)])
    return len(ids)


@built_once
def mark() -> Statement:
    return update(Job.objects.with_ids(GivenList("ids")), {"stale_at": Now()})


def long_stale() -> Q:
    return Q(stale_at__lt=StatementNow() - timedelta(seconds=conf.RETENTION_STALE_FOR))


def delete_stale(ids: Sequence[int]) -> int:
    """Looked at again under the lock: somebody may have retried it meanwhile."""
    return len(delete(lock_ended(ids, long_stale()), "retention"))


def old_traces() -> QuerySet[JobEvent]:
    """The last events of jobs and workers that are no more."""
    return JobEvent.objects.filter(UNATTACHED, at__lt=StatementNow() - timedelta(seconds=conf.RETENTION_STALE_FOR))


def delete_traces(ids: Sequence[int]) -> int:
    return traces().run(ids=ids)


@built_once
def traces() -> Statement:
    return delete_from(JobEvent.objects.filter(Among("pk", GivenList("ids"))))


@transactional
def delete_gone_workers() -> int:
    """Workers that are long gone and hold nothing; what they did keeps their names. A valid key may bring one back."""
    cutoff = Now() - timedelta(seconds=conf.RETENTION_STALE_FOR)
    holding = Job.objects.filter(worker=OuterRef("pk"), status=Status.RUNNING)
    has_key = WorkerKey.objects.filter(VALID, worker=OuterRef("pk"))
    gone = Worker.objects.annotate(seen=Coalesce("last_heartbeat", "registered_at")).filter(
        ~Exists(holding), ~Exists(has_key), status=WorkerStatus.OFFLINE, seen__lt=cutoff
    )
    _, deleted = gone.delete()
    return deleted.get(Worker._meta.label, 0)  # not counting keys


def old_webhooks() -> QuerySet[WebhookDelivery]:
    """Messages that ended long ago, whether their job is still there or not."""
    cutoff = StatementNow() - timedelta(seconds=conf.RETENTION_WEBHOOKS)
    return WebhookDelivery.objects.filter(finished_at__lt=cutoff)


def delete_webhooks(ids: Sequence[int]) -> int:
    return forget(old_webhooks().filter(pk__in=ids).order_by("pk").select_for_update(skip_locked=True))
