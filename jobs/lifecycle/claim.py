"""Claim: a worker takes the right to run jobs. Candidates → lock → assign → announce."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any
from uuid import UUID, uuid4

from django.db import OperationalError, models

from jobs.db import is_lock_timeout, transactional
from jobs.exceptions import InvalidInput, JobyardError
from jobs.given import Given
from jobs.handlers.base import NOTHING, ClaimedJob
from jobs.lifecycle import transition, wake_up
from jobs.lifecycle.candidates import lock_candidates
from jobs.lifecycle.fence import ref_of
from jobs.lifecycle.heartbeat import renewal
from jobs.lifecycle.isolation import IsolatedRoom
from jobs.lifecycle.limits import Gate, open_due
from jobs.lifecycle.line import READY_FIELDS, ReadyJob
from jobs.lifecycle.plain_claim import Habit, marks, take_plainly
from jobs.lifecycle.promote import promote_due
from jobs.lifecycle.sql.bound import Bound
from jobs.lifecycle.sql.built_once import Statement, built_once, select
from jobs.lifecycle.sql.insert import insert_unless_known, prepare
from jobs.lifecycle.sql.together import Writes
from jobs.lifecycle.workers import refreshing_after
from jobs.models import Claim, Job, PhaseProgress, QualityProgress, Worker
from jobs.states import EventName, PhaseStatus, QualityStatus, Status
from jobs.wire.messages import MAX_CLAIM

Shared = dict[Any, Any]


class ClaimIdUsed(JobyardError):
    """The claim id {claim_id} has taken jobs before."""


def claim(
    worker: Worker,
    queues: Sequence[str] = (),
    limit: int = 1,
    claim_id: UUID | None = None,
    *,
    start: bool = True,
    isolated_kinds: Collection[str] = (),
    isolated_limit: int | None = None,
    kinds: Sequence[str] = (),
    habit: Habit | None = None,
) -> list[ClaimedJob]:
    """Take up to `limit` ready jobs, by priority and then by age; no queues means all of them.

    A call repeated with the same claim id returns what that id still holds and takes nothing more. Jobs that the
    worker starts at once are marked as started here; with `start=False` it calls `start()` for each before it runs.
    Of the jobs that need a process of their own (`isolated_kinds`, and whatever crashed before) it takes up to
    `isolated_limit` (None: as many as there are) and leaves the others to whoever has room. A worker that says which
    `kinds` it can run is given no others. A worker that claims again and again keeps a `habit`: where the last claim
    was plain, the next one is made by one statement, of one queue.
    """
    if isinstance(limit, bool) or not isinstance(limit, int) or not 1 <= limit <= MAX_CLAIM:
        raise InvalidInput(f"A claim takes 1 to {MAX_CLAIM} jobs, not {limit!r}.")
    claim_id = claim_id or uuid4()
    room = IsolatedRoom.of(isolated_kinds, isolated_limit)
    habit = habit or Habit()
    tried = habit.is_plain and start
    if tried and (taken := take_plainly(worker, queues, limit, claim_id, room.kinds, kinds)):
        habit.was_right(all_of_it=len(taken) == limit or len(queues) == 1)
        return taken
    try:
        jobs = take(worker, queues, limit, claim_id, start, room, kinds, habit)
    except ClaimIdUsed:
        return still_held(worker, claim_id)
    if tried and jobs:  # else there was nothing: somebody else was faster
        habit.was_wrong()
    return jobs


@transactional
def take(
    worker: Worker,
    queues: Sequence[str],
    limit: int,
    claim_id: UUID,
    start: bool,
    room: IsolatedRoom,
    kinds: Sequence[str],
    habit: Habit,
) -> list[ClaimedJob]:
    gate = Gate()
    jobs = lock_candidates(worker, queues, limit, replace(room), gate, kinds)
    if (not jobs or jobs[0].others_are_due) and promote_due():
        gate.start_over()
        passed_over, jobs = jobs, lock_candidates(worker, queues, limit, replace(room), gate, kinds)
        wake_up.send(passed_over if passed_over != jobs else ())  # we had them locked
    if (not jobs or jobs[0].opening) and open_due(gate) and not jobs:
        jobs = lock_candidates(worker, queues, limit, replace(room), gate, kinds)
    gate.settle()
    if not jobs:
        return still_held(worker, claim_id)
    habit.saw(plain=all(is_plain(job, room) for job in jobs))
    writes = Writes()
    writes.expect(1, use_of(claim_id, worker), lambda _: ClaimIdUsed(claim_id=claim_id))
    assign(jobs, worker, claim_id, start, writes)
    writes.add(*refreshing_after(len(jobs), worker))
    writes.run()
    return hand_over(jobs)


def is_plain(job: ReadyJob, room: IsolatedRoom) -> bool:
    """As `plain_claim` asks of each."""
    return not (job.limited or job.progressed_at or room.weight_of(job))


def use_of(claim_id: UUID, worker: Worker) -> Bound:
    """Uses a claim id up; a call that runs at the same time with the same id waits here for the first to commit."""
    row = [prepare(Claim, "id", claim_id), prepare(Claim, "worker_id", worker.pk)]
    return insert_unless_known(Claim, {"id": "%s", "worker_id": "%s"}, row)


def assign(jobs: Sequence[ReadyJob], worker: Worker, claim_id: UUID, start: bool, writes: Writes) -> None:
    changes = marks(claim_id, worker.pk, worker.name, start=start)
    transition.move(jobs, Status.RUNNING, EventName.CLAIMED, writes=writes, **changes)
    for job in jobs:  # what `hand_over` reads
        job.claim_id = claim_id
        job.attempt += start


def still_held(worker: Worker, claim_id: UUID) -> list[ClaimedJob]:
    """What the call took. One that somebody keeps locked is left out, and goes back as a claim that nobody lists: the
    others need not wait for it."""
    try:
        return renewed(worker, claim_id, skip_locked=False)
    except OperationalError as error:
        if not is_lock_timeout(error):
            raise
        return renewed(worker, claim_id, skip_locked=True)


@transactional
def renewed(worker: Worker, claim_id: UUID, *, skip_locked: bool) -> list[ClaimedJob]:
    """The answer took so long that the reaper may be about to take them."""
    jobs = [ReadyJob(*row) for row in held_by_call(skip_locked).rows(worker=worker.pk, claim_id=claim_id)]
    if jobs:
        renewal().run(ids=[job.pk for job in jobs])
    return hand_over(jobs)


@built_once
def held_by_call(skip_locked: bool) -> Statement:
    worker, claim_id = Given("worker", models.UUIDField()), Given("claim_id", models.UUIDField())
    held = Job.objects.filter(worker=worker, status=Status.RUNNING, claim_id=claim_id)
    return select(transition.locking(held, skip_locked=skip_locked).values_list(*READY_FIELDS))


def hand_over(jobs: Sequence[ReadyJob]) -> list[ClaimedJob]:
    """The jobs as their worker gets them, with what earlier attempts left."""
    resumed = [job.pk for job in jobs if job.progressed_at]
    results: dict[int, dict[str, object]] = {}
    qualities: dict[int, list[str]] = {}
    if resumed:
        done = PhaseProgress.objects.filter(job__in=resumed, status=PhaseStatus.COMPLETED)
        for job_id, name, result in done.values_list("job_id", "name", "result"):
            results.setdefault(job_id, {})[name] = result
        finished = QualityProgress.objects.filter(job__in=resumed, status=QualityStatus.COMPLETED)
        for job_id, name in finished.values_list("job_id", "name"):
            qualities.setdefault(job_id, []).append(name)
    shared: Shared = {}
    return [claimed(job, results.get(job.pk, NOTHING), qualities.get(job.pk, ()), shared) for job in jobs]


def claimed(
    job: ReadyJob, phase_results: Mapping[str, object], completed_qualities: Sequence[str], shared: Shared
) -> ClaimedJob:
    """What is alike in many is one and the same object (`shared`): so it goes through a pipe once."""
    same = shared.setdefault
    return ClaimedJob(
        ref_of(job),
        same(job.kind, job.kind),
        same(job.queue, job.queue),
        job.payload,
        job.subject,
        job.attempt,
        job.max_attempts,
        job.crashes,
        same(job.lease, job.lease),
        job.max_runtime,
        job.checkpoint,
        phase_results,
        completed_qualities,
        job.priority,
        same(job.enqueued_at, job.enqueued_at),
        job.trace_context,
    )  # in order: to name each takes twice as long
