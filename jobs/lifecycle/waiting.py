"""Waiting: jobs that need others to end first, and what becomes of them when those do.

How a needed job ended is written into its dependencies in the transaction that ends it, under its own lock. Whoever
waits for it is then looked at under his lock, and all that he needs is counted anew: there is no counter to drift.

Locks are taken in this order: the rows of jobs that end (or are to be needed), by id; rows of limits; then the rows of
those who wait, without waiting for them, for a job may wait for a younger one. Who could not be locked is looked at
again after the commit, alone. What a crash leaves between the two, the reaper's `sweep` finds.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import starmap
from typing import Any

from django.db import transaction
from django.db.models import Case, Count, Exists, F, OuterRef, Subquery, Value, When
from django.db.models.functions import Coalesce, Greatest

from jobs.db import Now
from jobs.exceptions import InvalidInput
from jobs.lifecycle import counts, wake_up
from jobs.lifecycle.locked_job import LOCKED_FIELDS, AnyJob, LockedJob
from jobs.lifecycle.sql.together import Writes
from jobs.models import Dependency, DependencyQuerySet, Job
from jobs.models.dependency import GONE
from jobs.states import TERMINAL, Bucket, EventName, Hold, OnParentFailure, Status

AT_ONCE = 1000  # let go in the transaction of what they waited for; the others after it

HOW = {Status.FAILED.value: "failed", Status.CANCELLED.value: "was cancelled", GONE: "is gone"}
Later = Callable[[Sequence[int]], None]


@dataclass(frozen=True)
class Doomed:
    """Locked jobs that will never run, because of how one ended that they needed: what `move` is told of them."""

    to: Status
    event: EventName
    reason: str
    jobs: list[LockedJob] = field(default_factory=list, compare=False, hash=False)

    def changes(self) -> dict[str, Any]:
        return {"waits_for": 0, "last_error": f"It was not run: {self.reason}."}


# When a job is to wait


def lock_needed(job_ids: Collection[int]) -> dict[int, str]:
    """Lock the jobs that others are to wait for, so that none of them ends unseen; returns their statuses."""
    if not job_ids:
        return {}
    needed = Job.objects.with_ids(job_ids)
    found = dict(needed.order_by("id").select_for_update(no_key=True).values_list("pk", "status"))
    if missing := sorted(set(job_ids) - found.keys()):
        named = ", ".join(map(str, missing[:5]))
        raise InvalidInput(f"There is no job {named} to wait for: it was never enqueued, or is deleted by now.")
    needed.filter(awaited=False).update(awaited=True)
    return found


def add(dependencies: Iterable[Dependency], needed: Mapping[int, str]) -> None:
    """Store that jobs need others, which are locked; `needed` says in which status they are."""
    rows = list(dependencies)
    for row in rows:
        status = needed[row.needs_id]
        row.ended = status if status in TERMINAL else ""
    Dependency.objects.bulk_create(rows, batch_size=1000)


def suspend(job: AnyJob, needs: Collection[int] | None) -> int:
    """Let a locked job wait for jobs that it spawned (None: for all); returns how many of them have not ended."""
    spawned = Dependency.objects.of([job.pk]).spawned()
    spawned.update(policy="")
    chosen = spawned if needs is None else spawned.filter(needs__in=needs)
    number = chosen.update(policy=OnParentFailure.RUN)
    if needs is not None and number != len(set(needs)):
        raise InvalidInput("WaitFor(…) takes jobs that this job spawned itself, with ctx.spawn(…).")
    unfinished = chosen.unfinished().count()
    if not unfinished and not has_news(job, chosen):
        raise InvalidInput(
            "WaitFor: all that it waits for had ended before this attempt began, so it would wait for ever."
        )
    return unfinished


def has_news(job: AnyJob, chosen: DependencyQuerySet) -> bool:
    """Whether one of them ended since the attempt began: then the handler may not have seen it."""
    began = Subquery(Job.objects.filter(pk=job.pk).values(began=Coalesce("started_at", "claimed_at")))
    return Job.objects.filter(finished_at__gte=began, pk__in=chosen.values("needs")).exists()


# When jobs end


def note_end(jobs: Iterable[AnyJob], to: Status) -> list[int]:
    """Write down how jobs ended; returns the ids of those who wait for them."""
    ids = [job.pk for job in jobs if job.awaited]
    if not ids:
        return []
    dependents = Dependency.objects.filter(needs__in=ids)
    dependents.update(ended=to)
    return sorted(set(dependents.waited_for().values_list("job_id", flat=True)))


def let_go(job_ids: Sequence[int], later: Later, *, patient: bool = False) -> list[Doomed]:
    """Look at jobs that may wait for nobody any more: drop their holds, and return those that will never run.

    Without patience, a row that somebody else has locked is left for `later`, after the commit.
    """
    now = job_ids[:AT_ONCE]
    mine = lock(now, skip_locked=not patient)
    locked = {job.pk for job in mine}
    left = [job_id for job_id in now if job_id not in locked] if not patient else []
    if rest := [*left, *job_ids[AT_ONCE:]]:
        transaction.on_commit(partial(later, rest), robust=True)
    return decide([job for job in mine if job.status == Status.PENDING and job.hold == Hold.WAITING])


def lock(job_ids: Sequence[int], *, skip_locked: bool) -> list[LockedJob]:
    """Whatever status they are in: one that is locked may be on its way to wait."""
    rows = Job.objects.with_ids(job_ids).order_by("id").select_for_update(no_key=True, skip_locked=skip_locked)
    return list(starmap(LockedJob, rows.values_list(*LOCKED_FIELDS)))


def decide(waiting: Sequence[LockedJob]) -> list[Doomed]:
    if not waiting:
        return []
    needs = Dependency.objects.of(job.pk for job in waiting).waited_for()
    broken = {row.job_id: row for row in needs.broken().order_by("-pk")}
    unfinished = unfinished_of(job.pk for job in waiting)
    doomed: dict[Doomed, Doomed] = {}
    free: list[LockedJob] = []
    for job in waiting:
        if row := broken.get(job.pk):
            fate = fate_of(row)
            doomed.setdefault(fate, fate).jobs.append(job)
        elif not unfinished[job.pk]:
            free.append(job)
    count_again([job.pk for job in waiting])
    release(free)
    return list(doomed)


def unfinished_of(job_ids: Iterable[int]) -> Counter[int]:
    """How many unfinished jobs each of these waits for."""
    open_ = Dependency.objects.of(job_ids).waited_for().unfinished().order_by()
    return Counter(dict(open_.values_list("job_id").annotate(Count("pk"))))


def fate_of(broken: Dependency) -> Doomed:
    reason = f"job {broken.needs_id}, which it waited for, {HOW[broken.ended]}"
    if broken.policy == OnParentFailure.FAIL:
        return Doomed(Status.FAILED, EventName.FAILED, reason)
    return Doomed(Status.CANCELLED, EventName.CANCELLED, reason)


def count_again(job_ids: Sequence[int]) -> None:
    open_ = Dependency.objects.filter(job=OuterRef("pk")).waited_for().unfinished().order_by()
    number = Subquery(open_.values("job").annotate(jobs=Count("pk")).values("jobs"))
    Job.objects.with_ids(job_ids).update(waits_for=Coalesce(number, 0))


def release(free: Sequence[LockedJob]) -> None:
    """They stand in line from now on, or wait for their time where that has not come."""
    if not free:
        return
    rows = Job.objects.with_ids(job.pk for job in free)
    rows.update(
        hold=Case(When(run_after__gt=Now(), then=Value(Hold.SCHEDULED)), default=Value(Hold.NONE)),
        run_after=Greatest(F("run_after"), Now()),
    )
    ready = [wake_up.AnyOf(*row) for row in rows.filter(hold=Hold.NONE).values_list("queue", "priority")]
    changes: Counter[tuple[str, Bucket]] = Counter()
    for queue, number in Counter(job.queue for job in ready).items():
        changes[queue, Bucket.SCHEDULED] -= number
        changes[queue, Bucket.PENDING] += number
    writes = Writes()
    writes.add(*counts.noted(changes), *wake_up.sending(ready))
    writes.run()
    wake_up.hint(ready)
    wake_up.send_if_soon([job.pk for job in free])


# When jobs run again, or go


def reopen(jobs: Sequence[AnyJob]) -> dict[int, list[AnyJob]]:
    """Ended jobs are to run again: who waits for them goes on waiting. Returns them by how many they wait for."""
    Dependency.objects.filter(needs__in=[job.pk for job in jobs if job.awaited]).update(ended="")
    unfinished = unfinished_of(job.pk for job in jobs)
    groups: defaultdict[int, list[AnyJob]] = defaultdict(list)
    for job in jobs:
        groups[unfinished[job.pk]].append(job)
    return groups


def forget_children(jobs: Iterable[AnyJob], *, all_of_them: bool) -> None:
    """What jobs spawned is no more theirs, so that they spawn it anew; of a retried one, what did not complete."""
    spawned = Dependency.objects.of(job.pk for job in jobs).spawned()
    spawned.update(policy="")
    if not all_of_them:
        spawned = spawned.exclude(ended__in=["", Status.COMPLETED])
    spawned.delete()


# Healing


def mend() -> list[int]:
    """Find what was missed: ends that nobody wrote down, and jobs that wait for nobody; returns the ids of these."""
    open_ = Dependency.objects.unfinished()
    needed = Job.objects.filter(pk=OuterRef("needs_id"))
    for status in TERMINAL:
        open_.filter(Exists(needed.filter(status=status))).update(ended=status)
    open_.filter(~Exists(needed)).update(ended=GONE)
    mine = Dependency.objects.filter(job=OuterRef("pk"))
    settled = ~Exists(mine.waited_for().unfinished()) | Exists(mine.broken())
    return list(Job.objects.waiting().filter(settled).order_by("id").values_list("pk", flat=True)[:AT_ONCE])
