"""Enqueue: a job comes into being, inside the caller's transaction."""

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple, Unpack

from django.conf import settings
from django.db import connection

from jobs import tracing
from jobs.db import is_postgres, joining, with_patience
from jobs.exceptions import JobyardError
from jobs.handlers.enqueueing import Enqueued, JobOptions, check_options
from jobs.lifecycle import counts, events, transition, wake_up
from jobs.lifecycle import waiting as waiting_for
from jobs.lifecycle.checker import check
from jobs.lifecycle.new_job import CheckedJob, NewJob
from jobs.lifecycle.sql.bound import Bound, Done
from jobs.lifecycle.sql.insert import prepare
from jobs.lifecycle.sql.insert_jobs import insert_job, insert_jobs, writes_events
from jobs.lifecycle.sql.together import Writes, run_together
from jobs.models import Dependency, Job
from jobs.states import ACTIVE, TERMINAL, EventName, Hold, Status, bucket_of

TRIES = 5
PAYLOAD_ALONE = tuple(CheckedJob._field_defaults.values())  # of one that says nothing else of its own
*NOTHING_OF_ITS_OWN, _ = PAYLOAD_ALONE  # without the time before which it must not run


class KeyContested(JobyardError):
    """The dedupe key {key!r} in queue {queue!r} was taken and freed too fast; try again."""


def enqueue(kind: str, payload: Any = None, **options: Unpack[JobOptions]) -> Enqueued:
    """Store a job: `enqueue("reports.build", {"month": 5}, queue="slow", unique="active")`.

    The options are the fields of `NewJob`. A duplicate is no error: `created` is False, and `job_id` says which
    job was met.
    """
    check_options(options)
    new = NewJob(kind, {} if payload is None else payload, **options)
    with tracing.enqueueing(str(kind), kind=kind) as span:
        answer = insert(check(new))
        if span:
            span.set_attribute("jobyard.job_id", answer.job_id)
    return answer


def insert(job: CheckedJob) -> Enqueued:
    """Insert a job with its event and count."""
    if not is_plain(job) or not is_postgres():
        return insert_batch([job])[0]
    statement = insert_job(job.terms.as_json, text_of(job, 0), wake_up.channel())
    [(job_id, enqueued_at, *_)] = run_patiently([statement])[0].rows
    wake_up.hint([job])
    return Enqueued(job_id, created=True, enqueued_at=enqueued_at)


def is_plain(job: CheckedJob) -> bool:
    """Whether it goes in for sure, and will be ready."""
    return job.dedupe_key is None and job.run_after is None and not job.terms.after


def run_patiently(statements: Sequence[Bound]) -> list[Done]:
    if connection.in_atomic_block:
        return run_together(statements)
    return with_patience(lambda: run_together(statements))


@joining
def insert_batch(batch: Sequence[CheckedJob]) -> list[Enqueued]:
    """The same; where a key is kept by another job, find out by which, and let those wait that are to."""
    needed = waiting_for.lock_needed({job_id for job in batch for job_id in job.terms.after})
    answers: dict[int, Enqueued] = {}
    waiting = list(enumerate(batch))
    for _ in range(TRIES):
        free_forced_keys(job for _, job in waiting)
        inserted = insert_rows([job for _, job in waiting])
        waiting = meet(match(waiting, inserted, answers), answers)
        if not waiting:
            made = [answers[place] for place in range(len(batch))]
            if needed:
                depend(zip(batch, made, strict=True), needed)
            return made
    # The job that kept the key ended between our insert and our look, each time anew.
    contested = waiting[0][1]
    raise KeyContested(key=contested.dedupe_key, queue=contested.queue)


def depend(pairs: Iterable[tuple[CheckedJob, Enqueued]], needed: Mapping[int, str]) -> None:
    """New jobs wait for others; where those have ended, they go on, or end, at once."""
    new = [(job.terms, made.job_id) for job, made in pairs if job.terms.after and made.created]
    waiting_for.add(
        (
            Dependency(job_id=job_id, needs_id=needs, policy=terms.on_parent_failure)
            for terms, job_id in new
            for needs in terms.after
        ),
        needed,
    )
    ended = {job_id for job_id, status in needed.items() if status in TERMINAL}
    transition.follow([job_id for terms, job_id in new if not ended.isdisjoint(terms.after)])


def free_forced_keys(jobs: Iterable[CheckedJob]) -> None:
    """`force` takes a key over from finished jobs that were unique for ever; an active one keeps it."""
    for job in jobs:
        if job.force and job.dedupe_key:
            finished = Job.objects.filter(queue=job.queue, dedupe_key=job.dedupe_key, status__in=TERMINAL)
            finished.filter(unique_ever=True).update(unique_ever=False)


class Inserted(NamedTuple):
    job_id: int
    queue: str
    dedupe_key: str | None
    hold: str
    kind: str
    priority: int
    enqueued_at: datetime | None


def insert_rows(jobs: Sequence[CheckedJob]) -> list[Inserted]:
    inserted = []
    for statement in statements_for(jobs):
        rows = run_together([statement])[0].rows
        inserted += [Inserted._make([*row[:-1], row[-1] or rows[0][-1]]) for row in rows]
    announce(inserted)
    return inserted


def statements_for(jobs: Sequence[CheckedJob]) -> list[Bound]:
    numbers: dict[int, int] = {}  # by identity: to hash terms takes as long as all else, and who is alike shares them
    texts = [text_of(job, numbers.setdefault(id(job.terms), len(numbers))) for job in jobs]
    shared = {id(job.terms): job.terms for job in jobs}
    return insert_jobs([shared[key].as_json for key in numbers], texts)


def text_of(job: CheckedJob, number: int) -> str:
    """A job as `insert_jobs` wants it."""
    _, payload, *own, run_after = job
    if own == NOTHING_OF_ITS_OWN and run_after is None:
        return f'[{number},{payload},"","",null,"",0,null]'
    moment = str(prepare(Job, "run_after", run_after)) if run_after else None
    return f"[{number},{payload},{json.dumps([*own, moment])[1:]}"


def announce(inserted: Sequence[Inserted]) -> None:
    if not inserted:
        return
    ready = [row for row in inserted if row.hold == Hold.NONE]
    changes = Counter((row.queue, bucket_of(Status.PENDING, row.hold)) for row in inserted)
    writes = Writes()
    if not writes_events():
        writes.add(events.of_jobs([row.job_id for row in inserted], EventName.ENQUEUED))
    writes.add(*counts.noted(changes, counts.enqueued((row.queue, row.kind) for row in inserted)))
    writes.add(*wake_up.sending(ready))
    writes.run()
    wake_up.hint(ready)
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


def moment(given: datetime | None) -> datetime | None:
    """As the ORM would read it: SQLite's driver knows no zone."""
    return given.replace(tzinfo=UTC) if given and settings.USE_TZ and given.tzinfo is None else given


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
