"""Counts what a statement has moved, inside PostgreSQL: as `lifecycle.counts` does with rows that were brought here."""

from django.db import connection

from jobs.durations import BOUNDS, NOT_TIMED
from jobs.models import QueueDelta
from jobs.states import Bucket, EventName

TALLYING = """
tallied AS (
    SELECT queue, kind, {duration_class} AS duration_class, COUNT(*) AS jobs, SUM(age) AS seconds
    FROM moved GROUP BY 1, 2, 3
), counted AS (
    INSERT INTO {delta} (queue, bucket, kind, event, duration_class, jobs, seconds)
    SELECT queue, '{entered}', kind, '{event}', duration_class, jobs, seconds FROM tallied
    UNION ALL SELECT queue, '{left}', '', '', {not_timed}, -SUM(jobs), 0 FROM tallied GROUP BY queue
)"""


def tallying(event: EventName, left: Bucket, entered: Bucket) -> str:
    """Parts of a WITH that has `moved`: queue, kind and age (in seconds) of jobs that went from a bucket to another."""
    return TALLYING.format(
        delta=connection.ops.quote_name(QueueDelta._meta.db_table),
        duration_class=class_of_age(),
        event=event,
        left=left,
        entered=entered,
        not_timed=NOT_TIMED,
    )


def class_of_age() -> str:
    """As `durations.class_of` has it: how many bounds are below. WIDTH_BUCKET tells how many are not above."""
    bounds = ", ".join(str(-bound) for bound in reversed(BOUNDS))
    return f"{len(BOUNDS)} - WIDTH_BUCKET(-age, ARRAY[{bounds}]::float8[])"
