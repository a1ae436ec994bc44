"""How deep each queue is: read from the counters, so that a million finished jobs cost nothing."""

from collections import defaultdict
from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import Any

from django.db.models import Count, Min, Sum

from jobs.models import Job, Queue, QueueDelta, QueueTotal
from jobs.models.ready_heads import ready_heads
from jobs.selectors.clock import database_now
from jobs.states import Bucket


@dataclass
class Depth:
    pending: int = 0
    scheduled: int = 0
    running: int = 0
    completed: int = 0
    failed: int = 0
    cancelled: int = 0
    oldest_pending_seconds: float | None = None

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)

    def add(self, other: "Depth") -> None:
        for bucket in Bucket:
            setattr(self, bucket, getattr(self, bucket) + getattr(other, bucket))
        ages = [age for age in (self.oldest_pending_seconds, other.oldest_pending_seconds) if age is not None]
        self.oldest_pending_seconds = max(ages, default=None)


@dataclass
class Depths:
    queues: dict[str, Depth] = field(default_factory=dict)
    paused: frozenset[str] = frozenset()

    @property
    def total(self) -> Depth:
        total = Depth()
        for depth in self.queues.values():
            total.add(depth)
        return total


def queue_depths() -> Depths:
    """Jobs per bucket and the age of the oldest one waiting, for every queue that has or had any."""
    depths: defaultdict[str, Depth] = defaultdict(Depth)
    for queue, bucket, jobs in counted():
        setattr(depths[queue], bucket, getattr(depths[queue], bucket) + jobs)
    waiting_since = oldest_waiting(depths)
    now = database_now()
    for queue, since in waiting_since.items():
        depths[queue].oldest_pending_seconds = max(0.0, round((now - since).total_seconds(), 3))
    paused = frozenset(Queue.objects.filter(paused=True).values_list("name", flat=True))
    for queue in paused:
        depths[queue]  # a paused queue is shown even while it is empty
    shown = {queue: depth for queue, depth in sorted(depths.items()) if any(vars(depth).values()) or queue in paused}
    return Depths(shown, paused)


def counted() -> list[tuple[str, str, int]]:
    """Totals and the deltas not yet folded in, read by one statement, so that a fold between them is not seen half."""
    totals = QueueTotal.objects.values_list("queue", "bucket", "jobs")
    deltas = (
        QueueDelta.objects.exclude(bucket="")
        .values("queue", "bucket")
        .annotate(sum=Sum("jobs"))
        .values_list("queue", "bucket", "sum")
    )
    return [(queue, bucket, int(jobs)) for queue, bucket, jobs in totals.union(deltas, all=True)]


def oldest_waiting(depths: defaultdict[str, Depth]) -> dict[str, datetime]:
    """Since when each queue's oldest job waits. Scheduled jobs that are due but not yet promoted are waiting, too."""
    oldest: dict[str, datetime] = {}
    for head in ready_heads():
        oldest[head.queue] = min(oldest.get(head.queue, head.run_after), head.run_after)
    for queue, since in held_back_by_queue():
        oldest[queue] = min(oldest.get(queue, since), since)
    for queue, jobs, since in due_by_queue():
        # Read after the counters: of what came in between, these know nothing, and no count goes below zero for it.
        counted_too = min(jobs, max(0, depths[queue].scheduled))
        depths[queue].pending += counted_too
        depths[queue].scheduled -= counted_too
        oldest[queue] = min(oldest.get(queue, since), since)
    return oldest


def due_by_queue() -> list[tuple[str, int, datetime]]:
    # Mostly none is due, and that is asked first: the statistics of `run_after` cover finished jobs, too, so that
    # PostgreSQL expects half of the scheduled ones to be due and starts parallel workers to count them.
    if Job.objects.due().values_list("pk").first() is None:
        return []
    due = Job.objects.due().order_by().values("queue").annotate(jobs=Count("pk"), since=Min("run_after"))
    return list(due.values_list("queue", "jobs", "since"))


def held_back_by_queue() -> list[tuple[str, datetime]]:
    held = Job.objects.held_back().order_by().values("queue").annotate(since=Min("run_after"))
    return list(held.values_list("queue", "since"))


def queue_names() -> list[str]:
    """Every queue that has or had jobs, or that somebody has set something for."""
    return sorted({queue for queue, _, _ in counted()} | set(Queue.objects.values_list("name", flat=True)))
