"""What comes next: whether there is work now, how long until a scheduled job is due, or a limit opens."""

from typing import Any, NamedTuple
from uuid import UUID

from django.db.models import Subquery, UUIDField
from django.db.models.lookups import IsNull

from jobs.db import SecondsSince
from jobs.given import Given
from jobs.lifecycle.sql.built_once import Statement, built_once, select
from jobs.models import Job, Limit, Worker
from jobs.states import Hold, Status


class Outlook(NamedTuple):
    ready: bool
    next_due_in: float | None

    @property
    def work_waits(self) -> bool:
        """Whether a worker may find something: a job that is ready, or due, or held back by a limit that is to open."""
        return self.ready or self.next_due_in == 0


NOTHING = Outlook(ready=False, next_due_in=None)


def outlook(worker_id: UUID) -> Outlook:
    """What an idle worker asks, by one statement."""
    for ready, *overdue in outlook_of().rows(worker=worker_id):
        return Outlook(bool(ready), until_first(overdue))
    return NOTHING  # its row is gone: it can take nothing


@built_once
def outlook_of() -> Statement:
    # The first in the order of their index, not any: to find any, PostgreSQL may read the table from its beginning.
    first_ready = Job.objects.filter(status=Status.PENDING, hold=Hold.NONE).order_by("queue").values("queue")[:1]
    worker = Worker.objects.filter(pk=Given("worker", UUIDField()))
    overdue = [Subquery(first) for first in first_overdue()]
    return select(worker.values_list(IsNull(Subquery(first_ready), False), *overdue))


def next_due_in() -> float | None:
    """Seconds, by the database's clock, until the first scheduled job is due, or the first limit that only time opens
    does (0: now); None: there is none."""
    return until_first([seconds for first in first_overdue() for seconds in first])


def first_overdue() -> list[Any]:
    """For how many seconds the first of each is due; fewer than none if it is not."""
    limits = Limit.objects.exclude(opens_at=None).order_by("opens_at")
    return [
        rows.values_list(SecondsSince(column), flat=True)[:1]
        for rows, column in ((Job.objects.scheduled(), "run_after"), (limits, "opens_at"))
    ]


def until_first(overdue: list[float | None]) -> float | None:
    waits = [max(0.0, -seconds) for seconds in overdue if seconds is not None]
    return min(waits, default=None)
