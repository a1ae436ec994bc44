"""Enqueue many: any number of jobs come into being, all or none, a thousand in a round trip."""

from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence, Sized
from itertools import chain, islice
from typing import Any, TypeVar, Unpack

from django.db import connection, transaction

from jobs import tracing
from jobs.db import is_postgres, transactional
from jobs.handlers.enqueueing import EnqueuedMany, JobOptions, check_options
from jobs.lifecycle import counts, wake_up
from jobs.lifecycle.checker import Checker
from jobs.lifecycle.enqueue import PAYLOAD_ALONE, insert_batch, is_plain, run_patiently, statements_for
from jobs.lifecycle.new_job import CheckedJob, NewJob
from jobs.lifecycle.sql.insert_jobs import MOST_AT_ONCE, insert_alike
from jobs.lifecycle.sql.together import one_string_may_hold_several
from jobs.states import Bucket

BATCH = 1000
T = TypeVar("T")


def enqueue_many(jobs: Iterable[NewJob]) -> EnqueuedMany:
    """Store any number of jobs, all or none, a thousand in a round trip. Takes a generator.

    Where it collides with another transaction it is tried again, as all verbs are; but a generator of more than a
    thousand can be read only once, and is not kept in memory: then the caller gets the error.
    """
    with tracing.enqueueing("many"):
        return insert_all(jobs, Checker().check)


def enqueue_each(kind: str, payloads: Iterable[Any], **options: Unpack[JobOptions]) -> EnqueuedMany:
    """The same for jobs that differ in their payloads alone: what they have in common is said, and checked, once."""
    check_options(options)
    with tracing.enqueueing("many", kind=kind):
        return insert_all(payloads, Checker().checking_payloads(NewJob(kind, **options)))


def insert_all(given: Iterable[T], check: Callable[[T], CheckedJob]) -> EnqueuedMany:
    if isinstance(given, Iterator):
        front = list(islice(given, BATCH + 1))
        if len(front) > BATCH:
            with transaction.atomic():
                return insert_batches(map(check, chain(front, given)))
        given = front
    if isinstance(given, Sized) and len(given) <= BATCH:
        batch = list(map(check, given))
        # In the caller's transaction it needs a savepoint: who catches an error of ours goes on.
        if not connection.in_atomic_block and (ids := insert_plainly(batch)) is not None:
            return EnqueuedMany(array("q", ids))
        return insert_patiently(lambda: iter(batch))
    return insert_patiently(lambda: map(check, given))


@transactional
def insert_patiently(jobs: Callable[[], Iterator[CheckedJob]]) -> EnqueuedMany:
    return insert_batches(jobs())


def insert_batches(jobs: Iterator[CheckedJob]) -> EnqueuedMany:
    result = EnqueuedMany()
    while batch := list(islice(jobs, BATCH)):
        if (ids := insert_plainly(batch)) is not None:
            result.created.extend(ids)
            continue
        for answer in insert_batch(batch):
            (result.created if answer.created else result.met).append(answer.job_id)
    return result


def insert_plainly(batch: Sequence[CheckedJob]) -> Sequence[int] | None:
    """Where it is known beforehand what will go in, all is one round trip, which is a transaction by itself."""
    if not batch:
        return ()
    alike = are_alike(batch)
    if not is_postgres() or not all(map(is_plain, batch[:1] if alike else batch)):
        return None
    ids = insert_those_alike(batch) if alike else insert_together(batch)
    if ids is not None:
        wake_up.hint(batch)
    return ids


def are_alike(batch: Sequence[CheckedJob]) -> bool:
    """Whether they differ in their payloads alone."""
    terms = batch[0].terms
    return all(job.terms is terms and job[2:] == PAYLOAD_ALONE for job in batch)


def insert_those_alike(batch: Sequence[CheckedJob]) -> Sequence[int] | None:
    payloads = [job.payload for job in batch]
    if sum(map(len, payloads)) > MOST_AT_ONCE:
        return None
    [(ids, *_)] = run_patiently([insert_alike(batch[0].terms.as_json, payloads, wake_up.channel())])[0].rows
    return ids


def insert_together(batch: Sequence[CheckedJob]) -> Sequence[int] | None:
    if not one_string_may_hold_several() or len(statements := statements_for(batch)) > 1:
        return None
    kinds = Counter((job.terms.queue, job.terms.kind) for job in batch)
    waiting = Counter((job.terms.queue, Bucket.PENDING) for job in batch)
    noted = counts.noted(waiting, counts.enqueued(kinds.elements()))
    awaiting = [wake_up.AnyOf(queue) for queue, _ in kinds]
    return [row[0] for row in run_patiently([*statements, *noted, *wake_up.sending(awaiting)])[0].rows]
