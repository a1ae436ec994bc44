"""A line: what one worker may take from one queue, first come first."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import starmap
from typing import Any

from django.db import models
from django.db.models import Exists, F, Q

from jobs.conf import conf
from jobs.db import Now
from jobs.given import Among, Given, GivenList
from jobs.lifecycle.locked_job import AGE, LockedJob, row_of
from jobs.lifecycle.sql.built_once import LIMIT, Statement, built_once, select
from jobs.models import Job, JobQuerySet, Worker, WorkerQuerySet
from jobs.states import Accelerator, WorkerStatus

QUEUE = Given("queue")
LOOK_BEHIND = 1000  # a queue full of what we have no room for is not read to its end by every claim


@dataclass(slots=True)
class ReadyJob(LockedJob):
    """With what its worker is handed over, too."""

    payload: dict[str, Any]
    lease: timedelta
    max_runtime: timedelta | None
    checkpoint: Any
    progressed_at: datetime | None
    enqueued_at: str
    trace_context: str | None
    others_are_due: bool  # some scheduled ones, which may have to go first: asked along with the lock
    opening: bool  # some limit, closed until a time, is to be opened


READY_FIELDS = row_of(ReadyJob)


@dataclass(frozen=True)
class Line:
    queue: str
    worker: Worker
    kinds: Sequence[str] = ()  # that the worker can run; none: all

    def lock_first(self, limit: int) -> list[ReadyJob]:
        return list(starmap(ReadyJob, first_ready(*self.shape).rows(limit=limit, **self.given)))

    def lock(self, job_ids: Sequence[int], limit: int) -> list[ReadyJob]:
        """Of these jobs, the first."""
        if not job_ids:
            return []
        return list(starmap(ReadyJob, ready_among(*self.shape).rows(ids=job_ids, limit=limit, **self.given)))

    def lock_light(self, isolated: Iterable[str], limit: int) -> list[ReadyJob]:
        """The first that may wait for a slot; it reads past all others, however many there are."""
        return list(starmap(ReadyJob, light_ready(*self.shape).rows(isolated=isolated, limit=limit, **self.given)))

    def front(self, limit: int | None = None) -> Sequence[Sequence[Any]]:
        """Id, age, kind, crashes and attempts left of the jobs near the front, locked by nobody."""
        return list(front_of(*self.shape).rows(limit=limit or LOOK_BEHIND, **self.given))

    @property
    def max_size(self) -> int | None:
        """Bytes: a small machine leaves larger sources to others."""
        size = self.worker.capabilities.get("max_size")
        return size if isinstance(size, int) else None

    @property
    def shape(self) -> tuple[bool, bool, bool]:
        return self.worker.gpu, self.max_size is not None, bool(self.kinds)

    @property
    def given(self) -> dict[str, Any]:
        patience = timedelta(seconds=conf.gpu_wait)
        given = {"queue": self.queue, "worker": self.worker.pk, "patience": patience, "max_size": self.max_size}
        return {**given, "kinds": list(self.kinds)} if self.kinds else given


@built_once
def first_ready(gpu: bool, sized: bool, choosy: bool) -> Statement:
    return locking(ready(gpu, sized, choosy))


@built_once
def ready_among(gpu: bool, sized: bool, choosy: bool) -> Statement:
    return locking(ready(gpu, sized, choosy).with_ids(GivenList("ids")))


@built_once
def light_ready(gpu: bool, sized: bool, choosy: bool) -> Statement:
    """In the words of `IsolatedRoom.must_begin`."""
    may_wait = ~Q(Among("kind", GivenList("isolated"))) & Q(crashes=0, max_attempts__gt=F("attempt") + 1)
    return locking(ready(gpu, sized, choosy).filter(may_wait))


@built_once
def front_of(gpu: bool, sized: bool, choosy: bool) -> Statement:
    attempts_left = F("max_attempts") - F("attempt")
    return select(ready(gpu, sized, choosy).values_list("pk", AGE, "kind", "crashes", attempts_left)[:LIMIT])


def locking(jobs: JobQuerySet, fields: Sequence[Any] = READY_FIELDS) -> Statement:
    return select(jobs.select_for_update(skip_locked=True, no_key=True).values_list(*fields)[:LIMIT])


def ready(gpu: bool, sized: bool, choosy: bool, queue: Any = QUEUE) -> JobQuerySet:
    jobs = Job.objects.ready(queue).filter(Exists(may_claim()), for_worker(gpu))
    if choosy:
        jobs = jobs.filter(Among("kind", GivenList("kinds")))
    return jobs.filter(size__lte=Given("max_size", models.BigIntegerField())) if sized else jobs


def may_claim() -> WorkerQuerySet:
    return Worker.objects.live().filter(pk=Given("worker", models.UUIDField()), drain_requested=False)


def for_worker(gpu: bool) -> Q:
    """A CPU worker never takes what requires a GPU, and leaves what prefers one to an idle GPU worker for a while."""
    if gpu:
        return Q()
    patience = Given("patience", models.DurationField())
    idle_gpu = Worker.objects.filter(
        gpu=True, status=WorkerStatus.IDLE, drain_requested=False, last_heartbeat__gt=Now() - patience
    )
    waited_enough = Q(run_after__lte=Now() - patience)
    nobody_better = Q(~Exists(idle_gpu))
    return Q(accelerator=Accelerator.NONE) | (Q(accelerator=Accelerator.PREFER) & (waited_enough | nobody_better))
