"""Wake-ups: hints that a queue has work, sent by the transaction that made it true. One may get lost."""

from collections.abc import Collection, Iterable
from datetime import timedelta
from functools import partial
from typing import NamedTuple, Protocol

from django.db import transaction

from jobs.conf import conf
from jobs.db import Now, is_postgres
from jobs.dispatch import hints, link
from jobs.lifecycle.sql.bound import Bound
from jobs.lifecycle.sql.together import run_together
from jobs.models import Job
from jobs.webhooks.bell import CALL

CHANNEL = "jobyard"
NOTIFY = "SELECT pg_notify(%s, name) FROM unnest(%s::text[]) AS name"
SOON = 60.0  # seconds, twice the time that a worker with wake-ups sleeps at most: it then knows when to look again
BY_NOTIFY = ("auto", "postgres")


class Waiting(Protocol):
    """A job that can be claimed, now or soon."""

    @property
    def queue(self) -> str: ...
    @property
    def priority(self) -> int: ...


class AnyOf(NamedTuple):
    """Some job of a queue."""

    queue: str
    priority: int = 0


def send(jobs: Collection[Waiting]) -> None:
    """Tell who listens, once this transaction commits: what is rolled back wakes nobody."""
    if statements := sending(jobs):
        run_together(statements)
    hint(jobs)


def sending(jobs: Iterable[Waiting]) -> list[Bound]:
    """The same by PostgreSQL, to be run together with what made it true."""
    if not by_notify():
        return []
    names = sorted({job.queue for job in jobs})
    return [Bound(NOTIFY, [CHANNEL, names], ageless=True)] if names else []


def hint(jobs: Iterable[Waiting]) -> None:
    """The same by Redis, which knows no transactions: called when all is written, it waits for the commit."""
    if link.is_on() and (found := hints.count((job.queue, job.priority) for job in jobs)):
        transaction.on_commit(partial(hints.send, found), robust=True)


def send_to(queues: Iterable[str], number: int = 1) -> None:
    """Where there are no jobs at hand: for each queue so many workers are woken, if wake-ups are counted."""
    send([AnyOf(queue) for queue in set(queues) for _ in range(number)])


def call_deliverers() -> None:
    """Tell whoever delivers webhooks elsewhere that there is something to deliver."""
    send_to([CALL])


def send_if_soon(job_ids: Collection[int]) -> None:
    """Scheduled jobs wake their queues, too, if they are due before a worker would look by itself."""
    if job_ids and is_on():
        soon = Job.objects.with_ids(job_ids).filter(run_after__lte=Now() + timedelta(seconds=SOON))
        send([AnyOf(*row) for row in soon.values_list("queue", "priority")])


def is_on() -> bool:
    return by_notify() or link.is_on()


def channel() -> str | None:
    """Where PostgreSQL tells who listens, if it does."""
    return CHANNEL if by_notify() else None


def by_notify() -> bool:
    return conf.DISPATCH in BY_NOTIFY and is_postgres()
