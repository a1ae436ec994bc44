"""What changed in the database since one last looked: read from the events, none of them missed.

On PostgreSQL an event gets its id before its transaction commits, so one with a lower id may appear after one with a
higher id was seen. `Line` knows which ids may still appear, and up to which one nothing can.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from django.db import connection
from django.db.models import Max, Q

from jobs.db import is_postgres
from jobs.models import JobEvent
from jobs.states import EventName

MOST = 1000  # events that are looked at one by one; of more, only the latest
MOST_GAPS = 50

# Whoever is given an event's id has written before, so its transaction has a number; the counter of those is read
# after the ids. Once no transaction below that number runs any more, no id up to the newest one can appear.
MOMENT = """
SELECT (SELECT COALESCE(MAX(id), 0) FROM jobs_jobevent),
       pg_snapshot_xmin(seen)::text::bigint,
       pg_snapshot_xmin(seen)::text::bigint + age(pg_snapshot_xmin(seen)::xid)
FROM pg_current_snapshot() AS seen
"""


class Moment(NamedTuple):
    """The newest event, the oldest transaction that may still be running, and the number the next one will get."""

    newest: int
    oldest_running: int = 0
    next_transaction: int = 0


class Event(NamedTuple):
    id: int
    name: str
    job_id: int | None
    queue: str
    worker_id: Any


class Seen(NamedTuple):
    events: list[Event]
    cut: bool  # there were more than could be looked at

    @property
    def crowded(self) -> set[str]:
        """The queues of which one event tells of many new jobs at once."""
        return {event.queue for event in self.events if event.name == EventName.ENQUEUED and event.job_id is None}

    @property
    def left_out(self) -> bool:
        """Whether these do not name all jobs that changed."""
        return self.cut or bool(self.crowded)


@dataclass
class Line:
    """How far the events have been read, and which of them may still come in between."""

    newest: int
    safe: int | None = None  # no event up to here can appear any more; None: not known yet
    gaps: list[tuple[int, int]] = field(default_factory=list)
    _waiting: list[tuple[int, int]] = field(default_factory=list)

    def note(self, moment: Moment) -> None:
        """Learn from a later moment which ids are settled by now."""
        if not self._waiting or self._waiting[-1][1] != moment.newest:
            self._waiting.append((moment.next_transaction, moment.newest))
        while self._waiting and self._waiting[0][0] <= moment.oldest_running:
            self.safe = self._waiting.pop(0)[1]
        if len(self._waiting) > MOST_GAPS:  # a transaction that takes long holds all of them: the last one will do
            del self._waiting[1:-1]
        safe = self.safe or 0
        self.gaps = [(low, high) for low, high in self.gaps if high > safe]

    def read(self, ids: Iterable[int], *, whole: bool) -> None:
        """These were there. Unless some were left out, what is missing between them may come later."""
        found, expected = sorted(ids), self.newest + 1
        if whole:
            self.gaps = [hole for low, high in self.gaps for hole in holes(low, high, found)]
            fresh = [number for number in found if number >= expected]
            if fresh:
                self.gaps += holes(expected, fresh[-1], fresh)
        self.newest = max([self.newest, *found])
        if len(self.gaps) > MOST_GAPS:
            self.gaps = [(self.gaps[0][0], self.gaps[-MOST_GAPS][1]), *self.gaps[1 - MOST_GAPS :]]

    def condition(self) -> Q:
        condition = Q(id__gt=self.newest)
        for low, high in self.gaps:
            condition |= Q(id__gte=low, id__lte=high)
        return condition


def holes(low: int, high: int, found: list[int]) -> list[tuple[int, int]]:
    """The ranges of `low`…`high` that are not in `found`, which is sorted."""
    missing = []
    for number in found:
        if low <= number <= high:
            if number > low:
                missing.append((low, number - 1))
            low = number + 1
    return [*missing, (low, high)] if low <= high else missing


def current_moment() -> Moment:
    if not is_postgres():  # one writer at a time: ids come in the order of commits
        return Moment(JobEvent.objects.aggregate(newest=Max("id"))["newest"] or 0)
    with connection.cursor() as cursor:
        cursor.execute(MOMENT)
        return Moment(*cursor.fetchone())


def begin() -> Line:
    """From now on; what was there is not looked at."""
    moment = current_moment()
    line = Line(moment.newest)
    line.note(moment)
    return line


def look(line: Line) -> Seen:
    """What has appeared since; the line remembers it."""
    moment = current_moment()
    seen = events_where(line.condition())
    line.read([event.id for event in seen.events], whole=not seen.cut)
    line.note(moment)
    return seen


def changed_after(position: int) -> Seen | None:
    """What a reader missed that has seen everything up to there; None if that cannot be told."""
    newest = current_moment().newest
    return None if position > newest else events_where(Q(id__gt=position))


def events_where(condition: Q) -> Seen:
    rows = JobEvent.objects.filter(condition).order_by("-id")
    events = [Event(*row) for row in rows.values_list("id", "name", "job_id", "queue", "worker_id")[: MOST + 1]]
    return Seen(events[:MOST], cut=len(events) > MOST)
