"""Writes history: one line per thing that happened, in the transaction that made it true."""

from collections.abc import Iterable, Sequence

from django.db import connection
from django.db.models import Case, F, Q, Value, When

from jobs.given import Given, GivenList
from jobs.lifecycle.locked_job import AnyJob
from jobs.lifecycle.sql.bound import Bound
from jobs.lifecycle.sql.built_once import Statement, built_once, insert_from
from jobs.models import Job, JobEvent, Worker
from jobs.sanitise import clean_text
from jobs.states import EventName

MAX_REASON = 500


def of_job(job: AnyJob, name: EventName, *, reason: str = "", outcome: str = "") -> JobEvent:
    """An event of a job as it was locked: who held it comes from its row."""
    return JobEvent(
        name=name,
        job_id=job.pk,
        queue=job.queue,
        worker_id=job.worker_id,
        worker_name=job.last_worker_name if job.worker_id else "",
        claim_id=job.claim_id,
        attempt=job.attempt,
        outcome=outcome,
        reason=clean_text(reason, MAX_REASON),
    )


MOVED = ("id", "queue", "worker_id", "last_worker_name", "claim_id", "attempt")  # what an event says of a row


def telling(change: Statement) -> Statement:
    """A change of jobs that writes their event, too, as their rows stand after it. Only PostgreSQL can say this."""
    sql = f"WITH moved AS ({change.sql} RETURNING {', '.join(MOVED)}) {told_of_moved('%s', '%s')}"
    return Statement(sql, (*change.parameters, Given("event"), Given("reason")))


def told_of_moved(event: str, reason: str = "''") -> str:
    """Writes the event of rows that the same statement has changed, and calls `moved`."""
    table = connection.ops.quote_name(JobEvent._meta.db_table)
    return f"""
        INSERT INTO {table} (name, job_id, queue, worker_id, worker_name, claim_id, attempt, outcome, reason)
        SELECT {event}, id, queue, worker_id, CASE WHEN worker_id IS NULL THEN '' ELSE last_worker_name END,
            claim_id, attempt, '', {reason} FROM moved"""  # noqa: S608  names of our own table and columns  # nosec B608


def of_jobs(job_ids: Sequence[int], name: EventName, *, reason: str = "", outcome: str = "") -> Bound:
    """Writes the same event for many jobs as their rows stand, without bringing them here."""
    return event_of_each().bound(ids=job_ids, name=name, outcome=outcome, reason=clean_text(reason, MAX_REASON))


@built_once
def event_of_each() -> Statement:
    held = Q(worker_id__isnull=False)
    return insert_from(
        JobEvent,
        Job.objects.with_ids(GivenList("ids")),
        {
            "name": Given("name"),
            "job_id": F("pk"),
            "queue": F("queue"),
            "worker_id": F("worker_id"),
            "worker_name": Case(When(held, then=F("last_worker_name")), default=Value("")),
            "claim_id": F("claim_id"),
            "attempt": F("attempt"),
            "outcome": Given("outcome"),
            "reason": Given("reason"),
        },
    )


def of_worker(worker: Worker, name: EventName, reason: str = "") -> JobEvent:
    return JobEvent(name=name, worker_id=worker.pk, worker_name=worker.name, reason=clean_text(reason, MAX_REASON))


def of_queue(queue: str, name: EventName, reason: str = "") -> JobEvent:
    return JobEvent(name=name, queue=queue, reason=clean_text(reason, MAX_REASON))


def record(events: Iterable[JobEvent]) -> None:
    JobEvent.objects.bulk_create(events, batch_size=1000)
