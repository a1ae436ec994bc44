"""Moves many jobs, batch by batch: one that cannot go is told apart, and holds up no other."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from django.db import IntegrityError

from jobs.lifecycle.selection import Selection, batches

DUPLICATE = "a job with the same dedupe key is pending or running"
Batch = Callable[[Sequence[int]], list[int]]


@dataclass
class MoveResult:
    """The jobs that were moved, and why the others were not."""

    moved: list[int] = field(default_factory=list)
    skipped: dict[int, str] = field(default_factory=dict)


def by_batch(selection: Selection, move_batch: Batch, otherwise: str, duplicate: str = DUPLICATE) -> MoveResult:
    """`otherwise`: why a job is left alone that the batch did not take."""
    result = MoveResult()
    for ids in batches(selection):
        moved, duplicates = move_each_if_needed(ids, move_batch)
        result.moved += moved
        result.skipped |= dict.fromkeys(sorted(set(ids) - set(moved)), otherwise) | dict.fromkeys(duplicates, duplicate)
    return result


def move_each_if_needed(ids: Sequence[int], move_batch: Batch) -> tuple[list[int], list[int]]:
    """A batch that meets a duplicate is done job by job: the unique index says which one cannot go."""
    try:
        return move_batch(ids), []
    except IntegrityError:
        if len(ids) == 1:
            return [], list(ids)
    parts = [move_each_if_needed([job_id], move_batch) for job_id in ids]
    return [pk for moved, _ in parts for pk in moved], [pk for _, duplicates in parts for pk in duplicates]
