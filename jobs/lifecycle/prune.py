"""Prune: retention in two steps. Ended jobs are marked stale after a while, and deleted a while after that."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import timedelta
from functools import partial

from django.db.models import Exists, OuterRef
from django.db.models.functions import Coalesce
from django.db.models.functions import Now as StatementNow

from jobs.conf import conf
from jobs.db import Now, transactional
from jobs.lifecycle import breaker, counts, events, hooks, transition
from jobs.lifecycle.clear import delete
from jobs.lifecycle.forget_deliveries import forget
from jobs.models import Job, JobEvent, WebhookDelivery, Worker
from jobs.models.job_event import UNATTACHED
from jobs.states import EventName, Status, WorkerStatus

BATCH = 500


@dataclass
class PruneResult:
    marked_stale: int = 0
    deleted: int = 0
    workers_deleted: int = 0
    webhooks_deleted: int = 0


def prune_once() -> PruneResult:
    """Mark, delete and tidy, in batches, until nothing is left to do."""
    result = PruneResult()
    for status, retention in retentions():
        result.marked_stale += sum(until_empty(partial(mark_stale, status, retention)))
    result.deleted = sum(until_empty(delete_stale))
    result.workers_deleted = delete_gone_workers()
    result.webhooks_deleted = sum(until_empty(delete_old_webhooks)) if conf.RETENTION_WEBHOOKS else 0
    breaker.forget_old()
    sum(until_empty(delete_old_traces))
    counts.fold()
    counts.forget_minutes(conf.RETENTION_STATISTICS)
    return result


def retentions() -> Iterator[tuple[Status, timedelta]]:
    for status, seconds in (
        (Status.COMPLETED, conf.RETENTION_COMPLETED),
        (Status.FAILED, conf.RETENTION_FAILED),
        (Status.CANCELLED, conf.RETENTION_CANCELLED),
    ):
        if seconds:
            yield status, timedelta(seconds=seconds)


def until_empty(step: Callable[[], int]) -> Iterator[int]:
    while done := step():
        yield done


@transactional
def mark_stale(status: Status, retention: timedelta) -> int:
    """One batch. Jobs whose hook fails stay, and are tried again with the next run."""
    old = Job.objects.filter(status=status, stale_at=None, finished_at__lt=StatementNow() - retention)
    ids = list(old.order_by("finished_at").values_list("pk", flat=True)[:BATCH])
    locked = transition.lock(Job.objects.with_ids(ids).filter(status=status, stale_at=None))
    jobs = hooks.passed(locked, "on_stale")
    Job.objects.with_ids(job.pk for job in jobs).update(stale_at=Now())
    events.record(events.of_job(job, EventName.STALE) for job in jobs)
    return len(jobs)


@transactional
def delete_stale() -> int:
    cutoff = StatementNow() - timedelta(seconds=conf.RETENTION_STALE_FOR)
    ids = list(Job.objects.filter(stale_at__lt=cutoff).order_by("stale_at").values_list("pk", flat=True)[:BATCH])
    # Looked at again under the lock: somebody may have retried it meanwhile.
    return len(delete(transition.lock(Job.objects.with_ids(ids).filter(stale_at__lt=cutoff)), "retention"))


@transactional
def delete_gone_workers() -> int:
    """Workers that are long gone and hold nothing; what they did keeps their names."""
    cutoff = Now() - timedelta(seconds=conf.RETENTION_STALE_FOR)
    holding = Job.objects.filter(worker=OuterRef("pk"), status=Status.RUNNING)
    gone = Worker.objects.annotate(seen=Coalesce("last_heartbeat", "registered_at")).filter(
        ~Exists(holding), status=WorkerStatus.OFFLINE, seen__lt=cutoff
    )
    deleted, _ = gone.delete()
    return deleted


@transactional
def delete_old_traces() -> int:
    """The last events of jobs and workers that are no more."""
    cutoff = StatementNow() - timedelta(seconds=conf.RETENTION_STALE_FOR)
    old = JobEvent.objects.filter(UNATTACHED, at__lt=cutoff).order_by("at")
    ids = list(old.values_list("pk", flat=True)[:BATCH])
    JobEvent.objects.filter(pk__in=ids).delete()
    return len(ids)


@transactional
def delete_old_webhooks() -> int:
    """Messages that ended long ago, whether their job is still there or not."""
    cutoff = StatementNow() - timedelta(seconds=conf.RETENTION_WEBHOOKS)
    old = WebhookDelivery.objects.filter(finished_at__lt=cutoff).order_by("finished_at")
    return forget(old.select_for_update(skip_locked=True)[:BATCH])
