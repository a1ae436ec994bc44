"""New jobs go in as two parameters, JSON arrays: the driver takes 16,000 of them apart one by one.

What many jobs have in common, their terms, is sent once, and each job says which terms are its own. On PostgreSQL the
same statement writes their first event.
"""

from collections.abc import Iterator, Sequence
from functools import cache

from django.db import connection

from jobs.db import is_postgres
from jobs.durations import NOT_TIMED
from jobs.lifecycle.sql.bound import Bound
from jobs.lifecycle.sql.insert import column_of, field_of, now_sql
from jobs.models import Job, JobEvent, QueueDelta
from jobs.states import Bucket, EventName, Hold

TERMS = (
    "kind", "queue", "priority", "unique_ever", "accelerator", "max_attempts", "backoff", "lease", "max_runtime",
    "webhook_url", "waits_for", "trace_context",
)  # fmt: skip
OWN = ("payload", "subject", "scope", "dedupe_key", "limit_key", "size", "run_after")  # behind the number of the terms
RETURNED = ("id", "queue", "dedupe_key", "hold", "kind", "priority", "enqueued_at")
MOST_AT_ONCE = 16 * 2**20  # characters; PostgreSQL takes no array of more than 256 MB
# How PostgreSQL makes the value of a column out of JSON, where it is not the text itself.
POSTGRES_VALUES = {
    "JSONField": "{} -> {}",
    "BooleanField": "({} ->> {})::boolean",
    "SmallIntegerField": "({} ->> {})::smallint",
    "IntegerField": "({} ->> {})::integer",
    "BigIntegerField": "({} ->> {})::bigint",
    "DurationField": "({} ->> {})::bigint * interval '1 microsecond'",
    "DateTimeField": "({} ->> {})::timestamptz",
}
POSTGRES = """
WITH terms AS MATERIALIZED (
    SELECT number - 1 AS number, {terms} FROM jsonb_array_elements(%s::jsonb) WITH ORDINALITY AS each(term, number)
), new AS (
    INSERT INTO {job} ({names})
    SELECT {values} FROM jsonb_array_elements(%s::jsonb) WITH ORDINALITY AS given(job, place)
    JOIN terms ON terms.number = (job ->> 0)::int ORDER BY place
    ON CONFLICT DO NOTHING RETURNING {returned}
), told AS (
    INSERT INTO {event} (name, job_id, queue, worker_name, attempt, outcome, reason)
    SELECT '{enqueued}', id, queue, '', 0, '', '' FROM new ORDER BY id
)
SELECT id, queue, dedupe_key, hold, kind, priority, CASE WHEN id = MIN(id) OVER () THEN enqueued_at END
FROM new ORDER BY id
"""
POSTGRES_ONE = """
WITH new AS (
    INSERT INTO {job} ({names})
    SELECT {values} FROM (SELECT %s::jsonb AS term, %s::jsonb AS job) AS given
    RETURNING id, queue, kind, enqueued_at
), told AS (
    INSERT INTO {event} (name, job_id, queue, worker_name, attempt, outcome, reason)
    SELECT '{enqueued}', id, queue, '', 0, '', '' FROM new
), {counted}
SELECT id, enqueued_at{wake_up} FROM new
"""
# No ORDER BY: a row is returned when it goes in, and goes in when it has got its id.
POSTGRES_ALIKE = """
WITH terms AS MATERIALIZED (
    SELECT {terms} FROM (SELECT %s::jsonb AS term) AS given
), new AS (
    INSERT INTO {job} ({names})
    SELECT {values} FROM terms, jsonb_array_elements(%s::jsonb) AS payload RETURNING id
), made AS MATERIALIZED (
    SELECT queue, kind, jobs, ids FROM terms, (SELECT COUNT(*) AS jobs, ARRAY_AGG(id) AS ids FROM new) AS made
), told AS (
    {told}
), {counted}
SELECT ids{wake_up} FROM made
"""
COUNTED = """counted AS (
    INSERT INTO {delta} (queue, bucket, kind, event, duration_class, jobs, seconds)
    SELECT queue, '{pending}', kind, '{enqueued}', {not_timed}, {jobs}, 0 FROM {new}
)"""
# Of so many that are alike one event tells: the first line of each one's history says no more than its row.
MANY = 100
TOLD_ONE_BY_ONE = """INSERT INTO {event} (name, job_id, queue, worker_name, attempt, outcome, reason)
    SELECT '{enqueued}', id, queue, '', 0, '', '' FROM new, terms"""
TOLD_TOGETHER = """INSERT INTO {event} (name, queue, worker_name, outcome, reason)
    SELECT '{enqueued}', queue, '', '', jobs || ' jobs' FROM made"""
SQLITE = """
WITH terms AS (SELECT key AS number, {terms} FROM (SELECT key, value AS term FROM json_each(%s)))
INSERT INTO {job} ({names})
SELECT {values} FROM (SELECT value AS job, key AS place FROM json_each(%s))
JOIN terms ON terms.number = JSON_EXTRACT(job, '$[0]') WHERE TRUE ORDER BY place
ON CONFLICT DO NOTHING RETURNING {returned}
"""


def insert_jobs(terms: Sequence[str], jobs: Sequence[str]) -> list[Bound]:
    """Statements that insert jobs, as few as there can be: each returns what went in, in the order given.

    `terms` are the values of TERMS; a job is a JSON array of the number of its terms and the values of OWN. Durations
    are microseconds, times are text. Rows that meet a unique index are left out silently. PostgreSQL tells when jobs
    were enqueued with the first of each statement: they all were at once, and to read a time takes as long as all else.
    """
    given = f"[{','.join(terms)}]"
    return [Bound(statement(connection.vendor), [given, array], ageless=True) for array in arrays(jobs)]


def insert_alike(terms: str, payloads: Sequence[str], channel: str | None) -> Bound:
    """Many that differ in their payloads alone, go in for sure and are ready then; returns their ids in order, as one.

    With events, counts and wake-up, as `insert_job`. What is alike is said once, and neither matched with each nor
    looked for in an index.
    """
    statement = statement_for_alike(len(payloads) >= MANY, channel)
    return Bound(statement, [terms, f"[{','.join(payloads)}]"], ageless=True)


@cache
def statement_for_alike(told_together: bool, channel: str | None) -> str:
    values = {name: f"terms.{name}" for name in TERMS} | {"payload": "payload.value", "hold": f"'{Hold.NONE}'"}
    values |= {"subject": "''", "scope": "''", "limit_key": "''", "size": "0"}
    told = TOLD_TOGETHER if told_together else TOLD_ONE_BY_ONE
    return POSTGRES_ALIKE.format(
        **tables(),
        terms=", ".join(f"{value_of('term', name, place)} AS {name}" for place, name in enumerate(TERMS)),
        names=", ".join(column_of(Job, name) for name in values),
        values=", ".join(values.values()),
        told=told.format(**tables(), enqueued=EventName.ENQUEUED),
        counted=counted("made", "jobs"),
        wake_up=waking(channel),
    )


def insert_job(terms: str, job: str, channel: str | None) -> Bound:
    """One that goes in for sure and is ready then, with its event, its count and, on a channel, its wake-up.

    Only for PostgreSQL, and for the sake of its one job: the statement for many takes twice as long to begin.
    """
    return Bound(statement_for_one(channel), [terms, job], ageless=True)


@cache
def statement_for_one(channel: str | None) -> str:
    values = {name: value_of("term", name, place) for place, name in enumerate(TERMS)}
    values |= {name: value_of("job", name, place) for place, name in enumerate(OWN, start=1)}
    del values["run_after"]  # the database's clock says when that is
    values["hold"] = f"'{Hold.NONE}'"
    return POSTGRES_ONE.format(
        **tables(),
        names=", ".join(column_of(Job, name) for name in values),
        values=", ".join(values.values()),
        enqueued=EventName.ENQUEUED,
        counted=counted("new", "1"),
        wake_up=waking(channel),
    )


def counted(new: str, jobs: str) -> str:
    words = {"enqueued": EventName.ENQUEUED, "pending": Bucket.PENDING, "not_timed": NOT_TIMED}
    return COUNTED.format(**tables(), **words, new=new, jobs=jobs)


def waking(channel: str | None) -> str:
    return f", pg_notify('{channel}', queue)" if channel else ""


def tables() -> dict[str, str]:
    named = {"job": Job, "event": JobEvent, "delta": QueueDelta}
    return {name: connection.ops.quote_name(model._meta.db_table) for name, model in named.items()}


def writes_events() -> bool:
    """Whether the statement writes the events of new jobs, too."""
    return is_postgres()


def arrays(jobs: Sequence[str]) -> Iterator[str]:
    part: list[str] = []
    size = 0
    for text in jobs:
        if part and size + len(text) > MOST_AT_ONCE:
            yield f"[{','.join(part)}]"
            part, size = [], 0
        part.append(text)
        size += len(text)
    yield f"[{','.join(part)}]"


@cache
def statement(vendor: str) -> str:
    now = now_sql()
    values = {name: f"terms.{name}" for name in TERMS}
    values |= {name: value_of("job", name, place) for place, name in enumerate(OWN, start=1)}
    run_after = values["run_after"]
    # The database's clock says what is due: the enqueuer's may be minutes off.
    values["run_after"] = f"COALESCE({run_after}, {now})"
    values["hold"] = (
        f"CASE WHEN {values['waits_for']} > 0 THEN '{Hold.WAITING}' "
        f"WHEN {run_after} > {now} THEN '{Hold.SCHEDULED}' ELSE '{Hold.NONE}' END"
    )
    return (POSTGRES if vendor == "postgresql" else SQLITE).format(
        terms=", ".join(f"{value_of('term', name, place)} AS {name}" for place, name in enumerate(TERMS)),
        **tables(),
        names=", ".join(column_of(Job, name) for name in values),
        values=", ".join(values.values()),
        returned=", ".join(column_of(Job, name) for name in RETURNED),
        enqueued=EventName.ENQUEUED,
    )


def value_of(array: str, name: str, place: int) -> str:
    if not is_postgres():
        return f"JSON_EXTRACT({array}, '$[{place}]')"
    return POSTGRES_VALUES.get(field_of(Job, name).get_internal_type(), "{} ->> {}").format(array, place)
