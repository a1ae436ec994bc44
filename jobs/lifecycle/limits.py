"""Limits: what a claim may take of jobs that are limited, and who goes next when there is room again.

Whether there is room is counted anew by each claim, under the lock of the limit's row: there is no counter that could
drift, and a job that a crashed worker left counts until it is reaped. A job for which there is no room is held back,
out of the ready index. A hold is but a note that it was met at a bad time: to drop one is always safe.

Locks are taken in this order: rows of jobs, rows of limits by id, and rows of jobs held back without waiting for them.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Sequence
from datetime import datetime
from typing import NamedTuple

from django.db.models import Count, Q

from jobs.db import Now, transactional
from jobs.lifecycle import wake_up
from jobs.lifecycle.limit_policy import Room, room_of, with_starts
from jobs.lifecycle.locked_job import AnyJob
from jobs.models import Job, Limit
from jobs.models.limit import EACH, LimitQuerySet
from jobs.states import Hold, LimitTarget, Status

COLUMN = {
    LimitTarget.QUEUE: "queue", LimitTarget.KIND: "kind", LimitTarget.SCOPE: "scope", LimitTarget.KEY: "limit_key",
}  # fmt: skip
LET_GO_AT_ONCE = 1000


class Name(NamedTuple):
    """What a limit counts: the jobs of this queue, kind or scope, or with this key."""

    target: LimitTarget
    value: str

    @classmethod
    def read(cls, held_by: str) -> "Name":
        target, _, value = held_by.partition(":")
        return cls(LimitTarget(target), value)

    def __str__(self) -> str:
        return f"{self.target}:{self.value}"


def names_of(job: AnyJob) -> list[Name]:
    named = (Name(target, getattr(job, column)) for target, column in COLUMN.items())
    return [name for name in named if name.value]


class Gate:
    """The limits that one transaction met: their rows are its own, and it knows how much room is left."""

    def __init__(self) -> None:
        self.known: set[Name] = set()
        self.limits: dict[Name, Limit] = {}
        self.rooms: dict[Name, Room] = {}
        self.locked: dict[int, Limit] = {}
        self.started: Counter[int] = Counter()
        self.now: datetime | None = None

    def learn(self, names: Iterable[Name]) -> None:
        """Lock the limits of these names, and count."""
        new = set(names) - self.known
        if not new:
            return
        self.known |= new
        limits = self.lock(Limit.objects.filter(about(new)))
        self.limits |= {name: limit for name in new if (limit := limit_of(name, limits))}
        free = {name: limit for name in new if (limit := self.limits.get(name)) and limit.pk in self.locked}
        if free:
            running, self.now = running_of(free), clock()
            self.rooms |= {name: room_of(limit, running[name], self.now) for name, limit in free.items()}

    def lock(self, limits: LimitQuerySet) -> list[Limit]:
        """The first time in id order; who has some already waits for no other, for that could be in a circle."""
        rows = limits.order_by("pk")
        if not self.locked:
            found = list(rows.select_for_update(no_key=True))
            self.locked = {limit.pk: limit for limit in found}
            return found
        found = list(rows)
        mine = Limit.objects.filter(pk__in=[limit.pk for limit in found]).order_by("pk")
        self.locked |= {limit.pk: limit for limit in mine.select_for_update(no_key=True, skip_locked=True)}
        return [self.locked.get(limit.pk, limit) for limit in found]

    def blocking(self, job: AnyJob) -> Name | None:
        """The first limit that has no room for a job; also one that somebody else has locked."""
        if not job.limited:
            return None
        return next((name for name in names_of(job) if name in self.limits and not self.has_room(name)), None)

    def has_room(self, name: Name) -> bool:
        room = self.rooms.get(name)
        return room is not None and room.jobs >= 1

    def take(self, job: AnyJob) -> None:
        for name in names_of(job) if job.limited else ():
            if name in self.rooms:
                self.rooms[name].jobs -= 1
                self.started[self.limits[name].pk] += 1

    def hold_back(self, blocked: Sequence[tuple[AnyJob, Name]]) -> int:
        """Note what there is no room for, and let others go where that leaves some; returns how many were held back.

        Of a queue that is full nobody is held back: it is passed by as a whole.
        """
        held = [(job, name) for job, name in blocked if name in self.rooms and name.target != LimitTarget.QUEUE]
        rows = [Job(pk=job.pk, hold=Hold.LIMITED, held_by=str(name)) for job, name in held]
        Job.objects.bulk_update(rows, ["hold", "held_by"], batch_size=500)
        for name in {other for job, _ in held for other in names_of(job) if self.has_room(other)}:
            let_go(name, self.rooms[name].jobs)
        return len(held)

    def start_over(self) -> None:
        """Nothing was taken after all: keep the locks, and count again."""
        self.known.clear()
        self.limits.clear()
        self.rooms.clear()
        self.started.clear()

    def settle(self) -> None:
        """Write what the limits must remember: what has started, and when those that only time opens will open."""
        opens: dict[int, datetime] = {}
        for name, room in self.rooms.items():
            limit = self.limits[name]
            if limit.rate_jobs and self.started[limit.pk] and self.now:
                limit.starts = with_starts(limit, self.now, self.started.pop(limit.pk))
                Limit.objects.filter(pk=limit.pk).update(starts=limit.starts)
                room.opens_at = room_of(limit, 0, self.now).opens_at
            if room.jobs < 1 and room.opens_at:
                opens[limit.pk] = room.opens_at
        for limit in self.locked.values():
            if limit.opens_at != opens.get(limit.pk):
                limit.opens_at = opens.get(limit.pk)
                Limit.objects.filter(pk=limit.pk).update(opens_at=limit.opens_at)


def about(names: Collection[Name]) -> Q:
    values: defaultdict[LimitTarget, list[str]] = defaultdict(list)
    for name in names:
        values[name.target].append(name.value)
    found = Q(pk__in=())
    for target, these in values.items():
        found |= Q(target=target, name__in=these)
    return found | Q(target=LimitTarget.KEY, name__endswith=EACH) if LimitTarget.KEY in values else found


def limit_of(name: Name, limits: Iterable[Limit]) -> Limit | None:
    """Of several that cover a key, the one that says most of it; its own before all others."""
    own = [limit for limit in limits if limit.target == name.target and limit.covers(name.value)]
    return max(own, key=lambda limit: (not limit.is_of_each, len(limit.name)), default=None)


def running_of(limits: dict[Name, Limit]) -> Counter[Name]:
    running: Counter[Name] = Counter()
    for target, column in COLUMN.items():
        values = [name.value for name, limit in limits.items() if name.target == target and limit.max_running]
        if values:
            jobs = Job.objects.running().filter(**{f"{column}__in": values}).order_by()
            counted = jobs.values(column).annotate(jobs=Count("pk")).values_list(column, "jobs")
            running.update({Name(target, value): number for value, number in counted})
    return running


def clock() -> datetime:
    """After all locks: a time from before the wait for one would be too early."""
    return Limit.objects.annotate(now=Now()).values_list("now", flat=True)[:1].get()


def let_go(name: Name, room: float) -> int:
    """Drop the holds of the first that wait for a limit; whoever is locked by somebody else is passed by."""
    first = Job.objects.held_back(str(name)).select_for_update(no_key=True, skip_locked=True)
    jobs = list(first.values_list("pk", "queue")[: int(min(room, LET_GO_AT_ONCE))])
    Job.objects.with_ids(pk for pk, _ in jobs).update(hold=Hold.NONE, held_by="")
    wake_up.send([wake_up.AnyOf(queue) for _, queue in jobs])
    return len(jobs)


def hold_still(jobs: Iterable[AnyJob]) -> None:
    """Lock the limits of jobs that will be moved one after the other: each alone would lock its own out of order."""
    names = {name for job in jobs if job.limited for name in names_of(job)}
    if names:
        list(Limit.objects.filter(about(names)).order_by("pk").select_for_update(no_key=True))


def leaving(jobs: Iterable[AnyJob]) -> list[AnyJob]:
    """Of jobs that are moved, those that ran under a limit, or could have: somebody else may go in their place."""
    return [job for job in jobs if job.limited and (job.status == Status.RUNNING or job.hold == Hold.NONE)]


def freed(left: Iterable[AnyJob]) -> None:
    """Once it is written that they left: whoever waits for their limits goes next."""
    gate = Gate()
    gate.learn(name for job in left for name in names_of(job))
    let_go_all(gate)
    gate.settle()


def let_go_all(gate: Gate) -> int:
    """Whoever there is room for, under the limits that are known."""
    wake_up.send_to(name.value for name in gate.rooms if name.target == LimitTarget.QUEUE and gate.has_room(name))
    return sum(let_go(name, gate.rooms[name].jobs) for name in sorted(gate.rooms) if gate.has_room(name))


def drop_holds(jobs: Iterable[AnyJob]) -> None:
    """Whoever changes a job that is held back lets it go: while it was locked, its turn may have passed."""
    held = [job for job in jobs if job.hold == Hold.LIMITED]
    Job.objects.with_ids(job.pk for job in held).update(hold=Hold.NONE, held_by="")
    wake_up.send(held)
    for job in held:
        job.hold = Hold.NONE


def open_due(gate: Gate) -> int:
    """Open the limits whose time has come; returns how many jobs can go on."""
    due = gate.lock(Limit.objects.opening())
    mine = [limit for limit in due if limit.pk in gate.locked]
    gate.learn(name for limit in mine for name in waiting_for(limit))
    freed = let_go_all(gate)
    gate.settle()
    return freed + sum(limit.target == LimitTarget.QUEUE for limit in mine)


def waiting_for(limit: Limit) -> list[Name]:
    if not limit.is_of_each:
        return [Name(LimitTarget(limit.target), limit.name)]
    held = Job.objects.held_back().order_by().filter(held_by__startswith=f"{limit.target}:{limit.name[:-1]}")
    return [Name.read(held_by) for held_by in held.values_list("held_by", flat=True).distinct()]


@transactional
def sweep() -> int:
    """Let everybody go whom no limit keeps any more: mends what was missed, and what a changed limit leaves."""
    names = [
        Name.read(each) for each in Job.objects.held_back().order_by().values_list("held_by", flat=True).distinct()
    ]
    if not names:
        return 0
    gate = Gate()
    gate.learn(names)
    free = sum(let_go(name, math.inf) for name in sorted(names) if name not in gate.limits)
    free += let_go_all(gate)
    gate.settle()
    return free
