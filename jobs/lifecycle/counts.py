"""Keeps the number of jobs per queue and bucket, and tallies of what happened to them, without counting rows."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain

from django.db.models import Exists, OuterRef
from django.db.models.functions import Now

from jobs.db import MinuteOf, transactional
from jobs.durations import NOT_TIMED, class_of
from jobs.lifecycle.locked_job import AnyJob
from jobs.lifecycle.sql.bound import Bound
from jobs.lifecycle.sql.fold import move_deltas
from jobs.lifecycle.sql.insert import inserts
from jobs.models import MinuteTally, QueueDelta, QueueTotal, TotalTally
from jobs.states import Bucket, EventName, Status

Changes = Mapping[tuple[str, Bucket], int]
TallyKey = tuple[str, str, str, int]
Tallies = Mapping[TallyKey, tuple[int, float]]
NOTHING: Tallies = {}
COLUMNS = ("queue", "bucket", "kind", "event", "duration_class", "jobs", "seconds")
RETRIES_EXCEEDED = "retries_exceeded"  # tallied beside `failed`; no event of its own
FOLD_AT_ONCE = 20_000
MAX_FOLDS = 50


def noted(changes: Changes, tallies: Tallies = NOTHING) -> Iterator[Bound]:
    """Notes how many jobs entered (+) or left (−) each bucket, and what happened to them, in their transaction."""
    counted = [(queue, bucket, "", "", NOT_TIMED, jobs, 0.0) for (queue, bucket), jobs in changes.items() if jobs]
    tallied = [
        (queue, "", kind, event, duration, jobs, seconds)
        for (queue, kind, event, duration), (jobs, seconds) in tallies.items()
    ]
    return inserts(QueueDelta, dict.fromkeys(COLUMNS, "%s"), [*counted, *tallied])


def happened(jobs: Sequence[AnyJob], event: EventName) -> Tallies:
    """What a transition did to locked jobs: how long they had waited where it claims, had run where it ends a run."""
    used_up = (
        (job.queue, job.kind, RETRIES_EXCEEDED, NOT_TIMED, 0.0)
        for job in jobs
        if event == EventName.FAILED and job.attempt >= job.max_attempts
    )
    told = (
        (job.queue, job.kind, event, class_of(job.age), job.age)
        if event == EventName.CLAIMED or job.status == Status.RUNNING
        else (job.queue, job.kind, event, NOT_TIMED, 0.0)
        for job in jobs
    )
    return summed(chain(told, used_up))


def enqueued(queues_and_kinds: Iterable[tuple[str, str]]) -> Tallies:
    return untimed(EventName.ENQUEUED, queues_and_kinds)


def untimed(event: EventName, queues_and_kinds: Iterable[tuple[str, str]]) -> Tallies:
    return summed((queue, kind, event, NOT_TIMED, 0.0) for queue, kind in queues_and_kinds)


def summed(each: Iterable[tuple[str, str, str, int, float]]) -> Tallies:
    tallies: dict[TallyKey, tuple[int, float]] = {}
    for queue, kind, event, duration, seconds in each:
        key = queue, kind, event, duration
        jobs, sum_of_seconds = tallies.get(key, (0, 0.0))
        tallies[key] = jobs + 1, sum_of_seconds + seconds
    return tallies


def fold() -> int:
    """Move the deltas that there are into the totals; returns how many."""
    moved = 0
    for _ in range(MAX_FOLDS):
        batch = fold_batch()
        moved += batch
        if batch < FOLD_AT_ONCE:
            break
    return moved


@transactional
def fold_batch() -> int:
    """Two that fold at once take different deltas."""
    return move_deltas(FOLD_AT_ONCE)


def forget_minutes(older_than: float) -> int:
    """Delete tallies of minutes that ended longer ago, in seconds; the totals keep what was in them."""
    deleted, _ = MinuteTally.objects.filter(minute__lt=MinuteOf(Now()) - int(older_than // 60)).delete()
    return deleted


@transactional
def forget_queues() -> None:
    """Queues without a job, and of which nothing is known but totals: names that were used once are not kept for good.

    To a monitoring system they end; one that is used again begins at nothing, which it takes for a restart.
    """
    holding = QueueTotal.objects.exclude(jobs=0)
    for model in (TotalTally, QueueTotal):
        gone = model.objects.all()
        for known in (holding, MinuteTally.objects.all(), QueueDelta.objects.all()):
            gone = gone.filter(~Exists(known.filter(queue=OuterRef("queue"))))
        gone.delete()
