"""What a monitoring system asks for: counts since the beginning, heartbeats, and when chores were last done."""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime

from django.db.models import Max, Min, Sum
from django.db.models.functions import Coalesce

from jobs.models import QueueDelta, TotalTally, Turn, Worker
from jobs.selectors.throughput import ENDINGS, Times
from jobs.states import LIVE_WORKER, EventName

Labels = tuple[str, str]  # queue, kind


@dataclass
class Totals:
    """Since the first job ever, by queue and kind."""

    events: defaultdict[tuple[str, str, str], int] = field(default_factory=lambda: defaultdict(int))
    waits: defaultdict[Labels, Times] = field(default_factory=lambda: defaultdict(Times))
    runs: defaultdict[Labels, Times] = field(default_factory=lambda: defaultdict(Times))


def totals() -> Totals:
    found = Totals()
    for queue, kind, event, duration_class, jobs, seconds in tallied():
        found.events[queue, kind, event] += jobs
        if event == EventName.CLAIMED:
            found.waits[queue, kind].add(duration_class, jobs, seconds)
        elif event in ENDINGS and duration_class >= 0:
            found.runs[queue, kind].add(duration_class, jobs, seconds)
    return found


def tallied() -> Iterator[tuple[str, str, str, int, int, float]]:
    """Totals and the deltas not yet folded in, by one statement, so that a fold between them is not seen half."""
    keys = ("queue", "kind", "event", "duration_class")
    folded = TotalTally.objects.values_list(*keys, "jobs", "seconds")
    fresh = QueueDelta.objects.exclude(event="").values(*keys).annotate(n=Sum("jobs"), s=Sum("seconds")).order_by()
    for queue, kind, event, duration_class, jobs, seconds in folded.union(fresh.values_list(*keys, "n", "s"), all=True):
        yield queue, kind, event, duration_class, int(jobs), float(seconds)


def oldest_heartbeat() -> datetime | None:
    """Of the workers that count as alive: the one that has been silent for the longest."""
    live = Worker.objects.filter(status__in=LIVE_WORKER)
    return live.aggregate(oldest=Min(Coalesce("last_heartbeat", "registered_at")))["oldest"]


def last_reap() -> datetime | None:
    return Turn.objects.filter(name__startswith="reap").aggregate(last=Max("taken_at"))["last"]
