"""Takes jobs as callers name them, by id or by filter, and walks them in batches."""

from collections.abc import Iterable, Iterator
from typing import Any

from jobs.exceptions import InvalidInput
from jobs.models import JobQuerySet

Selection = JobQuerySet | Iterable[int] | int
BATCH = 500
NOT_JOBS = "{!r} names no jobs: give an id (a whole number), several of them, or a queryset of jobs."


def batches(selection: Selection, size: int = BATCH) -> Iterator[list[int]]:
    """The ids, sorted, so that every verb locks in the same order.

    They are read once, without an ORDER BY that could tempt the planner away from the filter's own index;
    each batch is looked at again under its lock.
    """
    ids = sorted(ids_of(selection))
    for start in range(0, len(ids), size):
        yield ids[start : start + size]


def ids_of(selection: Selection) -> set[int]:
    if isinstance(selection, JobQuerySet):
        in_any_order = selection if selection.query.is_sliced else selection.order_by()
        return set(in_any_order.values_list("pk", flat=True))
    if isinstance(selection, int):
        return {check_id(selection)}
    if isinstance(selection, (str, bytes)) or not isinstance(selection, Iterable):
        raise InvalidInput(NOT_JOBS.format(selection))
    return {check_id(job_id) for job_id in selection}


def check_id(job_id: Any) -> int:
    """True is 1 to Python, and a database takes '12' and 12.0 for 12: whoever says so means something else."""
    if isinstance(job_id, bool) or not isinstance(job_id, int) or abs(job_id) >= 2**63:
        raise InvalidInput(NOT_JOBS.format(job_id))
    return job_id
