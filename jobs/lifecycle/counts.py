"""Keeps the number of jobs per queue and bucket without counting them."""

from collections.abc import Mapping

from jobs.db import transactional
from jobs.lifecycle.sql.fold import move_deltas
from jobs.lifecycle.sql.insert import insert
from jobs.models import QueueDelta
from jobs.states import Bucket

Changes = Mapping[tuple[str, Bucket], int]
FOLD_AT_ONCE = 20_000
MAX_FOLDS = 50


def add(changes: Changes) -> None:
    """Note how many jobs entered (+) or left (−) each bucket, in the transaction that moved them."""
    rows = [(queue, bucket, jobs) for (queue, bucket), jobs in sorted(changes.items()) if jobs]
    insert(QueueDelta, {"queue": "%s", "bucket": "%s", "jobs": "%s"}, rows)


def fold() -> int:
    """Move the deltas that there are into the totals; returns how many."""
    moved = 0
    for _ in range(MAX_FOLDS):
        batch = fold_batch()
        moved += batch
        if batch < FOLD_AT_ONCE:
            break
    return moved


@transactional
def fold_batch() -> int:
    """Two that fold at once take different deltas."""
    return move_deltas(FOLD_AT_ONCE)
