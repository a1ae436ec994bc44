"""Ended jobs that are to be marked or deleted: by the hundred, so no more of a row is brought here than that takes."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from django.db.models import Case, Q, Value, When

from jobs.lifecycle import hooks, transition
from jobs.models import Job


class EndedJob(NamedTuple):
    """A row as it was locked. Only a hook is given a model: to make one takes longer than to delete its row."""

    id: int
    kind: str
    queue: str
    status: str


def lock_ended(ids: Iterable[int], still: Q) -> list[EndedJob]:
    """Lock those of which this is still true, in id order; rows that somebody holds are left.

    They are found by their ids, whatever the planner believes: to statistics of a time when nothing was stale, the
    index of what is stale looks empty, and each batch would read all of it.
    """
    is_so = Case(When(still, then=Value(True)), default=Value(False))  # no index serves this
    locked = transition.locking(Job.objects.with_ids(ids).filter(is_so), skip_locked=True)
    return [EndedJob(*row) for row in locked.values_list(*EndedJob._fields)]


def passed(jobs: Sequence[EndedJob], hook: str) -> Sequence[EndedJob]:
    """The locked jobs whose kind has no such hook, or whose hook did not raise."""
    kinds = {kind for kind in {job.kind for job in jobs} if hooks.has(kind, hook)}
    if not kinds:
        return jobs
    called = transition.lock(Job.objects.with_ids(job.id for job in jobs if job.kind in kinds))
    went_well = {job.pk for job in hooks.passed(called, hook)}
    return [job for job in jobs if job.kind not in kinds or job.id in went_well]
