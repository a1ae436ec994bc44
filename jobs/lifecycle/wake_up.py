"""Wake-ups: hints that a queue has work, sent by the transaction that made it true. One may get lost."""

from collections.abc import Collection, Iterable
from datetime import timedelta

from jobs.conf import conf
from jobs.db import Now, is_postgres
from jobs.lifecycle.sql.together import Bound, run_together
from jobs.models import Job
from jobs.webhooks.bell import CALL

CHANNEL = "jobyard"
SOON = 60.0  # seconds, twice the time that a worker with wake-ups sleeps at most: it then knows when to look again
BY_NOTIFY = ("auto", "postgres", "hybrid")


def send(queues: Iterable[str]) -> None:
    """Tell who listens, once this transaction commits: what is rolled back wakes nobody."""
    if statements := sending(queues):
        run_together(statements)


def sending(queues: Iterable[str]) -> list[Bound]:
    """The same, to be run together with what made it true."""
    names = sorted(set(queues))
    if not names or not is_on():
        return []
    return [Bound("SELECT pg_notify(%s, name) FROM unnest(%s::text[]) AS name", [CHANNEL, names])]


def call_deliverers() -> None:
    """Tell whoever delivers webhooks elsewhere that there is something to deliver."""
    send([CALL])


def send_if_soon(job_ids: Collection[int]) -> None:
    """Scheduled jobs wake their queues, too, if they are due before a worker would look by itself."""
    if job_ids and is_on():
        soon = Job.objects.with_ids(job_ids).filter(run_after__lte=Now() + timedelta(seconds=SOON))
        send(soon.values_list("queue", flat=True).distinct())


def is_on() -> bool:
    return conf.DISPATCH in BY_NOTIFY and is_postgres()
