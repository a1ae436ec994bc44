"""Adds deltas up inside the database: to bring them here and send sums back took seven times as long."""

from django.db import connection

from jobs.db import MinuteOf, is_postgres
from jobs.models import MinuteTally, QueueDelta, QueueTotal, TotalTally

# The sums are sorted: one order for all who fold, so that they cannot block each other in a circle.
COUNT = """
INSERT INTO {total} (queue, bucket, jobs)
SELECT queue, bucket, CAST(SUM(jobs) AS bigint) FROM {source} WHERE bucket <> ''
GROUP BY queue, bucket ORDER BY queue, bucket
ON CONFLICT (queue, bucket) DO UPDATE SET jobs = {total}.jobs + EXCLUDED.jobs
"""
TALLY = """
INSERT INTO {tally} ({keys}, jobs, seconds)
SELECT {values}, CAST(SUM(jobs) AS bigint), SUM(seconds) FROM {source} WHERE event <> ''
GROUP BY {values} ORDER BY {values}
ON CONFLICT ({keys}) DO UPDATE SET jobs = {tally}.jobs + EXCLUDED.jobs, seconds = {tally}.seconds + EXCLUDED.seconds
"""
KEYS = "queue, kind, event, duration_class"
POSTGRES = """
WITH batch AS (SELECT id FROM {delta} ORDER BY id LIMIT %s FOR UPDATE SKIP LOCKED),
moved AS (DELETE FROM {delta} USING batch WHERE {delta}.id = batch.id RETURNING {delta}.*),
counted AS ({count} RETURNING 1), by_minute AS ({by_minute} RETURNING 1), in_total AS ({in_total} RETURNING 1)
SELECT COUNT(*) FROM moved
"""


def move_deltas(limit: int) -> int:
    """Take up to `limit` deltas, in the caller's transaction, and add them up; returns how many."""
    return move_on_postgres(limit) if is_postgres() else move_on_sqlite(limit)


def move_on_postgres(limit: int) -> int:
    """What somebody else has locked is left to him."""
    count, by_minute, in_total = sums("moved")
    delta = quoted(QueueDelta)
    statement = POSTGRES.format(delta=delta, count=count, by_minute=by_minute, in_total=in_total)
    with connection.cursor() as cursor:
        cursor.execute(statement, [limit])
        return int(cursor.fetchone()[0])


def move_on_sqlite(limit: int) -> int:
    """The transaction holds the whole database: what is read is what is deleted."""
    ids = list(QueueDelta.objects.order_by("id").values_list("id", flat=True)[:limit])
    if not ids:
        return 0
    up_to = f"(SELECT * FROM {quoted(QueueDelta)} WHERE id <= %s)"  # noqa: S608  names of our own tables  # nosec B608
    with connection.cursor() as cursor:
        for statement in sums(up_to):
            cursor.execute(statement, [ids[-1]])
    QueueDelta.objects.filter(id__lte=ids[-1]).delete()
    return len(ids)


def sums(source: str) -> tuple[str, str, str]:
    """The three statements that add up what is in `source`."""
    minute = MinuteOf.SQL[connection.vendor].format("at")
    return (
        COUNT.format(total=quoted(QueueTotal), source=source),
        TALLY.format(tally=quoted(MinuteTally), keys=f"minute, {KEYS}", values=f"{minute}, {KEYS}", source=source),
        TALLY.format(tally=quoted(TotalTally), keys=KEYS, values=KEYS, source=source),
    )


def quoted(model: type[QueueDelta | QueueTotal | MinuteTally | TotalTally]) -> str:
    return connection.ops.quote_name(model._meta.db_table)
