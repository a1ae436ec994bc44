"""New jobs go in as one parameter, a JSON array: the driver takes 16,000 of them apart one by one."""

import json
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

from django.db import connection

from jobs.db import is_postgres
from jobs.lifecycle.sql.insert import column_of, field_of, now_sql
from jobs.models import Job
from jobs.states import Hold

COLUMNS = (
    "kind", "queue", "payload", "priority", "subject", "scope", "dedupe_key", "unique_ever", "accelerator",
    "max_attempts", "backoff", "lease", "max_runtime", "webhook_url",
)  # fmt: skip
RETURNED = ("id", "queue", "dedupe_key", "hold", "kind", "enqueued_at", "priority")
MOST_AT_ONCE = 16 * 2**20  # characters; PostgreSQL takes no array of more than 256 MB
POSTGRES_ROWS = "jsonb_array_elements(%s::jsonb) WITH ORDINALITY AS new(job, place) ORDER BY place"
SQLITE_ROWS = "(SELECT value AS job, key AS place FROM json_each(%s)) WHERE TRUE ORDER BY place"
# How PostgreSQL makes the value of a column out of JSON, where it is not the text itself.
POSTGRES_VALUES = {
    "JSONField": "job -> {}",
    "BooleanField": "(job ->> {})::boolean",
    "SmallIntegerField": "(job ->> {})::smallint",
    "PositiveSmallIntegerField": "(job ->> {})::smallint",
    "DurationField": "(job ->> {})::bigint * interval '1 microsecond'",
    "DateTimeField": "(job ->> {})::timestamptz",
}


def insert_jobs(rows: Sequence[Sequence[Any]]) -> Iterator[tuple[Any, ...]]:
    """Insert rows (the values of COLUMNS, then when to run) and return what went in, in the order given.

    Durations are microseconds, times are text. Rows that meet a unique index are left out silently.
    """
    for array in arrays(rows):
        with connection.cursor() as cursor:
            cursor.execute(statement(connection.vendor), [array])
            yield from cursor.fetchall()


def arrays(rows: Sequence[Sequence[Any]]) -> Iterator[str]:
    """As few as there can be."""
    part: list[str] = []
    size = 0
    for row in rows:
        text = json.dumps(row)
        if part and size + len(text) > MOST_AT_ONCE:
            yield f"[{','.join(part)}]"
            part, size = [], 0
        part.append(text)
        size += len(text)
    yield f"[{','.join(part)}]"


@cache
def statement(vendor: str) -> str:
    run_after, now = value_of("run_after", len(COLUMNS)), now_sql()
    values = {name: value_of(name, place) for place, name in enumerate(COLUMNS)}
    # The database's clock says what is due: the enqueuer's may be minutes off.
    values["run_after"] = f"COALESCE({run_after}, {now})"
    values["hold"] = f"CASE WHEN {run_after} > {now} THEN '{Hold.SCHEDULED}' ELSE '{Hold.NONE}' END"
    table = connection.ops.quote_name(Job._meta.db_table)
    names = ", ".join(column_of(Job, name) for name in values)
    returned = ", ".join(column_of(Job, name) for name in RETURNED)
    rows = POSTGRES_ROWS if is_postgres() else SQLITE_ROWS
    return (
        f"INSERT INTO {table} ({names}) SELECT {', '.join(values.values())} FROM {rows} "  # noqa: S608  names of our own columns
        f"ON CONFLICT DO NOTHING RETURNING {returned}"
    )


def value_of(name: str, place: int) -> str:
    if not is_postgres():
        return f"JSON_EXTRACT(job, '$[{place}]')"
    return POSTGRES_VALUES.get(field_of(Job, name).get_internal_type(), "job ->> {}").format(place)
