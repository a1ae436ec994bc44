"""Where each queue stands: its first ready job per priority, found in a few index probes however long the queue is."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import connection

from jobs.models.job import Job
from jobs.models.queue import Queue

# A loose index scan: from each queue to the next, and within it from each priority to the next lower one.
WALK = """
queues(name) AS (
    SELECT MIN(queue) FROM {job} WHERE {ready}
    UNION ALL
    SELECT (SELECT MIN(queue) FROM {job} WHERE {ready} AND queue > queues.name) FROM queues WHERE name IS NOT NULL
),
heads(queue, priority) AS (
    SELECT name, (SELECT MAX(priority) FROM {job} WHERE {ready} AND queue = queues.name)
    FROM queues WHERE name IS NOT NULL {served}
    UNION ALL
    SELECT queue, (SELECT MAX(priority) FROM {job} WHERE {ready} AND queue = heads.queue AND priority < heads.priority)
    FROM heads WHERE priority IS NOT NULL
)"""
SINCE = "(SELECT MIN(run_after) FROM {job} j WHERE {ready} AND j.queue = heads.queue AND j.priority = heads.priority)"
HEADS = "WITH RECURSIVE {walk} SELECT queue, priority, {since} FROM heads WHERE priority IS NOT NULL"
# The queue of the most urgent head; of some queues, the first that has one.
FIRST = """{walk}, line(queue) AS MATERIALIZED (
    SELECT queue FROM heads WHERE priority IS NOT NULL ORDER BY priority DESC, {since} LIMIT 1
)"""
FIRST_NAMED = """line(queue) AS MATERIALIZED (
    SELECT name FROM unnest(%s::text[]) WITH ORDINALITY AS queues(name, place)
    WHERE (SELECT TRUE FROM {job} WHERE {ready} AND queue = queues.name LIMIT 1) {served} ORDER BY place LIMIT 1
)"""  # not EXISTS: that may be planned as a join, which reads all that is ready
# Not in the walk from queue to queue: to get past a paused one that way, all its jobs would be read.
NOT_PAUSED = "AND NOT EXISTS (SELECT 1 FROM {queue} WHERE {queue}.name = queues.name AND {queue}.paused)"


@dataclass(frozen=True)
class Head:
    queue: str
    priority: int
    run_after: datetime


def ready_heads(*, paused: bool = True) -> list[Head]:
    """The heads of all queues (`paused=False`: of those not paused), the one to be served first at the front."""
    with connection.cursor() as cursor:
        cursor.execute(statement(paused=paused))
        return heads_of(cursor.fetchall())


def statement(*, paused: bool) -> str:
    return in_words(HEADS, paused=paused)


def first_line(*, named: bool) -> str:
    """A part of a WITH RECURSIVE of PostgreSQL: `line`, the queue to be served first, of all or of those named."""
    return in_words(FIRST_NAMED if named else FIRST, paused=False)


def in_words(template: str, *, paused: bool) -> str:
    words = {
        "job": connection.ops.quote_name(Job._meta.db_table),
        "ready": "status = 'pending' AND hold = ''",
        "served": "" if paused else NOT_PAUSED.format(queue=connection.ops.quote_name(Queue._meta.db_table)),
    }
    return template.format(walk=WALK.format(**words), since=SINCE.format(**words), **words)


def heads_of(rows: Iterable[Sequence[Any]]) -> list[Head]:
    field = Job._meta.get_field("run_after")
    converters = connection.ops.get_db_converters(field.get_col(Job._meta.db_table))

    def converted(value: object) -> datetime:
        for convert in converters:
            value = convert(value, field, connection)
        return value  # type: ignore[return-value]  # the converters of a DateTimeField end in one

    heads = [Head(queue, priority, converted(run_after)) for queue, priority, run_after in rows]
    return sorted(heads, key=lambda head: (-head.priority, head.run_after))
