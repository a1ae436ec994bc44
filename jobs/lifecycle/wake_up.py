"""Wake-ups: hints that a queue has work, sent by the transaction that made it true. One may get lost."""

from collections.abc import Collection, Iterable
from datetime import timedelta
from functools import partial
from typing import Protocol

from django.db import connection, transaction

from jobs.conf import conf
from jobs.db import Now, is_postgres
from jobs.dispatch import hints, link
from jobs.models import Job

CHANNEL = "jobyard"
SOON = 60.0  # seconds, twice the time that a worker with wake-ups sleeps at most: it then knows when to look again
BY_NOTIFY = ("auto", "postgres")


class Waiting(Protocol):
    """A job that can be claimed, now or soon."""

    @property
    def queue(self) -> str: ...
    @property
    def priority(self) -> int: ...


def send(jobs: Iterable[Waiting]) -> None:
    """Tell who listens, once this transaction commits: what is rolled back wakes nobody."""
    if is_on():
        tell([(job.queue, job.priority) for job in jobs])


def send_to(queues: Iterable[str], number: int = 1) -> None:
    """The same where there are no jobs at hand: for each queue so many workers are woken, if wake-ups are counted."""
    if is_on():
        tell([(queue, 0) for queue in set(queues)] * number)


def send_if_soon(job_ids: Collection[int]) -> None:
    """Scheduled jobs wake their queues, too, if they are due before a worker would look by itself."""
    if job_ids and is_on():
        soon = Job.objects.with_ids(job_ids).filter(run_after__lte=Now() + timedelta(seconds=SOON))
        tell(list(soon.values_list("queue", "priority")))


def tell(waiting: Collection[tuple[str, int]]) -> None:
    if not waiting:
        return
    if by_notify():
        with connection.cursor() as cursor:
            names = sorted({queue for queue, _ in waiting})
            cursor.execute("SELECT pg_notify(%s, name) FROM unnest(%s::text[]) AS name", [CHANNEL, names])
    else:
        transaction.on_commit(partial(hints.send, hints.count(waiting)), robust=True)


def is_on() -> bool:
    return by_notify() or link.is_on()


def by_notify() -> bool:
    return conf.DISPATCH in BY_NOTIFY and is_postgres()
