"""Enqueue: a job comes into being, inside the caller's transaction."""

from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import chain, islice
from typing import Any, Unpack

from django.conf import settings
from django.db import transaction

from jobs.db import joining, transactional
from jobs.exceptions import InvalidInput, JobyardError
from jobs.handlers.enqueueing import Enqueued, JobOptions
from jobs.lifecycle import counts, events, wake_up
from jobs.lifecycle.new_job import CheckedJob, NewJob, check
from jobs.lifecycle.sql.insert import prepare
from jobs.lifecycle.sql.insert_jobs import COLUMNS, insert_jobs
from jobs.lifecycle.sql.together import Writes
from jobs.models import Job
from jobs.states import ACTIVE, TERMINAL, EventName, Hold, Status, bucket_of

BATCH = 1000
TRIES = 5
MICROSECOND = timedelta(microseconds=1)


@dataclass
class EnqueuedMany:
    """What became of many: the ids of the new jobs, in the order given, and of those that were met."""

    created: "array[int]" = field(default_factory=lambda: array("q"))
    met: "array[int]" = field(default_factory=lambda: array("q"))


class KeyContested(JobyardError):
    """The dedupe key {key!r} in queue {queue!r} was taken and freed too fast; try again."""


def enqueue(kind: str, payload: Any = None, **options: Unpack[JobOptions]) -> Enqueued:
    """Store a job: `enqueue("reports.build", {"month": 5}, queue="slow", unique="active")`.

    The options are the fields of `NewJob`. A duplicate is no error: `created` is False, and `job_id` says which
    job was met.
    """
    try:
        new = NewJob(kind, {} if payload is None else payload, **options)
    except TypeError as error:
        raise InvalidInput(f"enqueue() was called wrongly: {error}.") from None
    return insert_batch([check(new)])[0]


def enqueue_many(jobs: Iterable[NewJob]) -> EnqueuedMany:
    """Store any number of jobs, all or none, a thousand in a round trip. Takes a generator.

    Where it collides with another transaction it is tried again, as all verbs are; but a generator of more than a
    thousand can be read only once, and is not kept in memory: then the caller gets the error.
    """
    if isinstance(jobs, Iterator):
        front = list(islice(jobs, BATCH))
        if len(front) == BATCH:
            with transaction.atomic():
                return insert_all(chain(front, jobs))
        jobs = front
    return insert_all_patiently(jobs)


def insert_all(jobs: Iterable[NewJob]) -> EnqueuedMany:
    result = EnqueuedMany()
    checked = (check(new) for new in jobs)
    while batch := list(islice(checked, BATCH)):
        for answer in insert_batch(batch):
            (result.created if answer.created else result.met).append(answer.job_id)
    return result


@transactional
def insert_all_patiently(jobs: Iterable[NewJob]) -> EnqueuedMany:
    return insert_all(jobs)


@joining
def insert_batch(batch: Sequence[CheckedJob]) -> list[Enqueued]:
    """Insert jobs with their events and counts; where a key is kept by another job, find out by which."""
    answers: dict[int, Enqueued] = {}
    waiting = list(enumerate(batch))
    for _ in range(TRIES):
        free_forced_keys(job for _, job in waiting)
        inserted = insert_rows([job for _, job in waiting])
        waiting = meet(match(waiting, inserted, answers), answers)
        if not waiting:
            return [answers[place] for place in range(len(batch))]
    # The job that kept the key ended between our insert and our look, each time anew.
    contested = waiting[0][1]
    raise KeyContested(key=contested.dedupe_key, queue=contested.queue)


def free_forced_keys(jobs: Iterable[CheckedJob]) -> None:
    """`force` takes a key over from finished jobs that were unique for ever; an active one keeps it."""
    for job in jobs:
        if job.force and job.dedupe_key:
            finished = Job.objects.filter(queue=job.queue, dedupe_key=job.dedupe_key, status__in=TERMINAL)
            finished.filter(unique_ever=True).update(unique_ever=False)


@dataclass(frozen=True)
class Inserted:
    job_id: int
    queue: str
    dedupe_key: str | None
    hold: str
    kind: str
    enqueued_at: datetime


def insert_rows(jobs: Sequence[CheckedJob]) -> list[Inserted]:
    inserted = [Inserted(*row) for row in insert_jobs([values_of(job) for job in jobs])]
    announce(inserted)
    return inserted


def values_of(job: CheckedJob) -> list[Any]:
    """As `insert_jobs` wants them."""
    values = [getattr(job, name) for name in COLUMNS]
    run_after = str(prepare(Job, "run_after", job.run_after)) if job.run_after else None
    return [value // MICROSECOND if isinstance(value, timedelta) else value for value in values] + [run_after]


def announce(inserted: Sequence[Inserted]) -> None:
    if not inserted:
        return
    changes = Counter((row.queue, bucket_of(Status.PENDING, row.hold)) for row in inserted)
    writes = Writes()
    writes.add(events.of_jobs([row.job_id for row in inserted], EventName.ENQUEUED))
    writes.add(*counts.noted(changes, counts.enqueued((row.queue, row.kind) for row in inserted)))
    writes.add(*wake_up.sending(row.queue for row in inserted if row.hold == Hold.NONE))
    writes.run()
    wake_up.send_if_soon([row.job_id for row in inserted if row.hold == Hold.SCHEDULED])


Waiting = list[tuple[int, CheckedJob]]


def match(waiting: Waiting, inserted: Sequence[Inserted], answers: dict[int, Enqueued]) -> Waiting:
    """Tell which jobs went in: those without a key all did, in order; a key went in once at most."""
    keyless = iter([row for row in inserted if row.dedupe_key is None])
    keyed = {(row.queue, row.dedupe_key): row for row in inserted if row.dedupe_key is not None}
    left_out: Waiting = []
    for place, job in waiting:
        row = next(keyless) if job.dedupe_key is None else keyed.pop((job.queue, job.dedupe_key), None)
        if row is None:
            left_out.append((place, job))
        else:
            answers[place] = Enqueued(row.job_id, created=True, enqueued_at=moment(row.enqueued_at))
    return left_out


def moment(given: datetime) -> datetime:
    """As the ORM would read it: SQLite's driver knows no zone."""
    return given.replace(tzinfo=UTC) if settings.USE_TZ and given.tzinfo is None else given


def meet(waiting: Waiting, answers: dict[int, Enqueued]) -> Waiting:
    """Find the jobs that keep the keys of those left out; a job that has ended meanwhile keeps none."""
    if not waiting:
        return []
    keeping = Job.objects.keeping_key({job.queue for _, job in waiting}, {job.dedupe_key for _, job in waiting})
    keepers = {(keeper.queue, keeper.dedupe_key): keeper for keeper in keeping.only("queue", "dedupe_key", "status")}
    for place, job in waiting:
        keeper = keepers.get((job.queue, job.dedupe_key))
        # One that ended while we waited for it keeps its key from others, but not from `force`: that tries again.
        if keeper and (keeper.status in ACTIVE or not job.force):
            answers[place] = Enqueued(keeper.pk, created=False)
    return [(place, job) for place, job in waiting if place not in answers]
