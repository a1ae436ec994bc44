"""Clear: ended jobs are deleted, with their history. A pending or running one never is."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence

from django.db.models import Q

from jobs.db import transactional
from jobs.given import Among, GivenList
from jobs.lifecycle import counts, events
from jobs.lifecycle.ended_job import EndedJob, lock_ended, passed
from jobs.lifecycle.forget_deliveries import ended_of_jobs, forget_with_ids
from jobs.lifecycle.selection import Selection, batches
from jobs.lifecycle.sql.bound import Bound
from jobs.lifecycle.sql.built_once import Statement, built_once
from jobs.lifecycle.sql.delete import delete_from
from jobs.lifecycle.sql.together import run_together
from jobs.models import Dependency, Job, JobEvent, PhaseProgress, QualityProgress
from jobs.states import TERMINAL, Bucket, EventName

# What they needed is nobody's concern any more; that others needed them stays written.
BELONGINGS = (PhaseProgress, QualityProgress, Dependency)


def clear(selection: Selection, reason: str = "cleared") -> list[int]:
    """Delete ended jobs in batches; returns the ids of those deleted."""
    return [job_id for ids in batches(selection) for job_id in clear_batch(ids, reason)]


@transactional
def clear_batch(ids: list[int], reason: str) -> list[int]:
    return delete(lock_ended(ids, Q(status__in=TERMINAL)), reason)


def delete(jobs: Sequence[EndedJob], reason: str) -> list[int]:
    """Delete locked jobs and all that belongs to them; one event remains to tell of each."""
    jobs = passed(jobs, "on_delete")
    ids = [job.id for job in jobs]
    if not ids:
        return []
    *_, messages = run_together(
        [
            history().bound(ids=ids),
            *last_words(jobs, reason),
            *(belonging(model).bound(ids=ids) for model in BELONGINGS),
            rows_themselves().bound(ids=ids),
            *counts.noted({bucket: -number for bucket, number in buckets(jobs).items()}),
            ended_of_jobs().bound(ids=ids),  # what is yet to be delivered is, all the same
        ]
    )
    forget_with_ids([message for (message,) in messages.rows])
    return ids


@built_once
def history() -> Statement:
    return delete_from(JobEvent.objects.filter(Among("job_id", GivenList("ids"))))


@built_once
def belonging(model: type[PhaseProgress | QualityProgress | Dependency]) -> Statement:
    return delete_from(model._default_manager.filter(Among("job_id", GivenList("ids"))))


@built_once
def rows_themselves() -> Statement:
    return delete_from(Job.objects.with_ids(GivenList("ids")))


def last_words(jobs: Sequence[EndedJob], reason: str) -> Iterator[Bound]:
    """The events that remain, made inside the database of the rows while these are there."""
    alike: defaultdict[tuple[str, str], list[int]] = defaultdict(list)
    for job in jobs:
        alike[job.status, job.kind].append(job.id)
    for (status, kind), ids in alike.items():
        yield events.of_jobs(ids, EventName.DELETED, reason=f"{status} {kind}: {reason}")


def buckets(jobs: Sequence[EndedJob]) -> Counter[tuple[str, Bucket]]:
    return Counter((job.queue, Bucket(job.status)) for job in jobs)
