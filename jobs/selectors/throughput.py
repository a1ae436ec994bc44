"""What happened lately: rates, failures, and how long jobs waited and ran. Read from tallies, never from the jobs."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime

from django.db.models import Sum
from django.db.models.functions import Now

from jobs.db import MinuteOf
from jobs.durations import NOT_TIMED, percentile
from jobs.models import MinuteTally, QueueDelta
from jobs.selectors.clock import database_now
from jobs.states import EventName

HOUR, DAY = 60, 24 * 60
# What ends an attempt, and so has a run time.
ENDINGS = (EventName.COMPLETED, EventName.FAILED, EventName.RETRYING)
RATE_OVER = 10  # minutes: what a queue's rate in and out is measured over


@dataclass
class Times:
    """How long something took, by class of duration."""

    jobs_by_class: Counter[int] = field(default_factory=Counter)
    seconds: float = 0.0

    def add(self, duration_class: int, jobs: int, seconds: float) -> None:
        self.jobs_by_class[duration_class] += jobs
        self.seconds += seconds

    @property
    def jobs(self) -> int:
        return self.jobs_by_class.total()

    @property
    def mean(self) -> float | None:
        return self.seconds / self.jobs if self.jobs else None

    def at(self, share: float) -> float | None:
        return percentile(self.jobs_by_class, share)

    def as_dict(self) -> dict[str, float | None]:
        return {"mean": self.mean, "p50": self.at(0.5), "p95": self.at(0.95), "p99": self.at(0.99)}


@dataclass
class Activity:
    """What happened in a span of time."""

    minutes: float
    events: Counter[str] = field(default_factory=Counter)
    waits: Times = field(default_factory=Times)
    runs: Times = field(default_factory=Times)

    def add(self, event: str, duration_class: int, jobs: int, seconds: float) -> None:
        self.events[event] += jobs
        if duration_class == NOT_TIMED:
            return
        if event == EventName.CLAIMED:
            self.waits.add(duration_class, jobs, seconds)
        elif event in ENDINGS:
            self.runs.add(duration_class, jobs, seconds)

    @property
    def ended(self) -> int:
        return self.events[EventName.COMPLETED] + self.events[EventName.FAILED]

    @property
    def failure_rate(self) -> float | None:
        """The share of the jobs that ended which failed for good; None where none ended."""
        return self.events[EventName.FAILED] / self.ended if self.ended else None

    @property
    def per_minute(self) -> float:
        return self.ended / self.minutes

    @property
    def entered_per_minute(self) -> float:
        return (self.events[EventName.ENQUEUED] + self.events[EventName.REQUEUED]) / self.minutes

    @property
    def left_per_minute(self) -> float:
        return (self.ended + self.events[EventName.CANCELLED]) / self.minutes

    def minutes_to_empty(self, waiting: int) -> float | None:
        """At this pace; None while as much comes in as goes out."""
        shrinks_by = self.left_per_minute - self.entered_per_minute
        if not waiting:
            return 0.0
        return waiting / shrinks_by if shrinks_by > 0 else None


@dataclass(frozen=True)
class Slot:
    """One bar of a chart."""

    begins: datetime
    events: Counter[str]


def activity(minutes: int = HOUR) -> Activity:
    """All queues together."""
    return together(activity_by_queue(minutes).values(), minutes)


def together(queues: Iterable[Activity], minutes: int) -> Activity:
    total = Activity(minutes)
    for queue in queues:
        total.events += queue.events
        for times, more in ((total.waits, queue.waits), (total.runs, queue.runs)):
            times.jobs_by_class += more.jobs_by_class
            times.seconds += more.seconds
    return total


def activity_by_queue(minutes: int = RATE_OVER) -> dict[str, Activity]:
    by_queue: defaultdict[str, Activity] = defaultdict(lambda: Activity(minutes))
    for queue, event, duration_class, jobs, seconds in summed("queue", "event", "duration_class", since=minutes):
        by_queue[queue].add(event, duration_class, int(jobs), float(seconds))
    return dict(by_queue)


def history(minutes: int = HOUR, slots: int = 60) -> list[Slot]:
    """The span in equal slots, the present last; a slot in which nothing happened is there, too."""
    each = minutes // slots
    last = int(database_now().timestamp()) // 60 // each
    events: defaultdict[int, Counter[str]] = defaultdict(Counter)
    for minute, event, jobs, _ in summed("minute", "event", since=minutes + each):
        events[minute // each][event] += int(jobs)
    return [
        Slot(datetime.fromtimestamp(number * each * 60, UTC), events[number])
        for number in range(last - slots + 1, last + 1)
    ]


def summed(*columns: str, since: int) -> Iterator[tuple]:
    """Jobs and seconds by these columns, of tallies and of the deltas not yet folded into them, in one statement."""
    first = MinuteOf(Now()) - since
    folded = MinuteTally.objects.filter(minute__gt=first)
    fresh = QueueDelta.objects.exclude(event="").annotate(minute=MinuteOf("at")).filter(minute__gt=first)
    parts = [
        rows.values(*columns).annotate(all_jobs=Sum("jobs"), all_seconds=Sum("seconds")).order_by()
        for rows in (folded, fresh)
    ]
    read = (*columns, "all_jobs", "all_seconds")
    yield from parts[0].values_list(*read).union(parts[1].values_list(*read), all=True)
