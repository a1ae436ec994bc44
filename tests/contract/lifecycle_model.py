"""What the lifecycle should do, in plain Python: the second opinion of the state machine test. No database here."""

from dataclasses import dataclass, field
from uuid import UUID

from jobs.exceptions import Cancelled, ClaimError, ClaimExpired, ClaimLost
from jobs.handlers.base import ClaimRef
from jobs.states import ACTIVE, TERMINAL, Status

LEASE = 120
OFFLINE_AFTER = 120
STALE_LOCK_AGE = 45 * 60
CLAIM_IDS_KEPT = 60 * 60
BACKOFF = 60  # given to each job as fixed:60; jitter adds at most a tenth
AFTER_JITTER = 63  # no step of time ends between 60 and 66, so this stands for all of them


@dataclass
class ModelWorker:
    silent_for: float = 0
    live: bool = True
    disabled: bool = False


@dataclass
class ModelJob:
    id: int
    queue: str
    key: str | None
    ever: bool
    max_attempts: int
    priority: int
    due_in: float
    status: Status = Status.PENDING
    attempt: int = 0
    crashes: int = 0
    cancel_requested: bool = False
    ref: ClaimRef | None = None
    worker: UUID | None = None
    lease_left: float = 0
    started: bool = False
    unlisted: int = 0
    qualities: set[str] = field(default_factory=set)

    def keeps(self, queue: str, key: str | None) -> bool:
        return key is not None and (self.queue, self.key) == (queue, key) and (self.status in ACTIVE or self.ever)

    def take(self, ref: ClaimRef, worker: UUID, start: bool) -> None:
        self.status, self.ref, self.worker, self.lease_left = Status.RUNNING, ref, worker, LEASE
        self.started, self.unlisted = start, 0
        self.attempt += start

    def move(self, to: Status, due_in: float = 0) -> Status:
        self.status, self.due_in = to, due_in
        self.ref, self.worker, self.unlisted = None, None, 0
        return to

    def give_back(self) -> Status:
        """Uncharged, unless somebody asked to cancel: then it never returns to pending."""
        if self.cancel_requested:
            return self.move(Status.CANCELLED)
        self.attempt -= self.started
        return self.move(Status.PENDING)

    def fail(self, *, fatal: bool, count: bool) -> Status:
        if self.cancel_requested:
            return self.move(Status.CANCELLED)
        self.attempt += not self.started  # what failed has run, marked or not
        if fatal or (count and self.attempt >= self.max_attempts):
            return self.move(Status.FAILED)
        self.attempt -= not count
        return self.move(Status.PENDING, AFTER_JITTER)

    def end(self, ending: str) -> Status:
        """What becomes of it when its worker says how the claim ended."""
        if ending == "complete":
            return self.move(Status.COMPLETED)
        if ending in ("release", "cancelled"):  # without a request, the worker's word alone cancels nothing
            return self.give_back()
        if ending == "crash":
            return self.crash()
        return self.fail(fatal=ending == "fatal", count=ending != "uncounted")

    def crash(self) -> Status:
        """Its worker is gone: charged if it had started, due at once the first time."""
        if self.cancel_requested or not self.started:
            return self.give_back()
        self.crashes += 1
        if self.attempt >= self.max_attempts:
            return self.move(Status.FAILED)
        return self.move(Status.PENDING, 0 if self.crashes == 1 else AFTER_JITTER)

    def again(self, *, from_nothing: bool) -> None:
        self.move(Status.PENDING)
        self.attempt, self.cancel_requested = 0, False
        if from_nothing:
            self.crashes, self.qualities = 0, set()

    def row(self) -> tuple[object, ...]:
        return (
            self.id, self.status, self.attempt, self.crashes, self.ref, self.worker, self.cancel_requested,
            self.unlisted, self.ever,
        )  # fmt: skip


@dataclass
class Model:
    jobs: dict[int, ModelJob] = field(default_factory=dict)
    workers: dict[UUID, ModelWorker] = field(default_factory=dict)
    paused: set[str] = field(default_factory=set)
    accepted: dict[ClaimRef, Status] = field(default_factory=dict)
    claimed_at: dict[UUID, float] = field(default_factory=dict)  # by claim id
    clock: float = 0

    def keeper(self, queue: str, key: str | None) -> ModelJob | None:
        return next((job for job in self.jobs.values() if job.keeps(queue, key)), None)

    def free_keys(self, queue: str, key: str | None) -> None:
        for job in self.jobs.values():
            if (job.queue, job.key) == (queue, key) and job.status in TERMINAL:
                job.ever = False

    def running(self) -> list[ModelJob]:
        return [job for job in self.jobs.values() if job.status == Status.RUNNING]

    def held_by(self, worker: UUID) -> dict[ClaimRef, ModelJob]:
        return {job.ref: job for job in self.running() if job.worker == worker and job.ref}

    def candidates(self, worker: UUID, queues: list[str]) -> list[ModelJob]:
        if not self.workers[worker].live:
            return []
        waiting = [job for job in self.jobs.values() if job.status == Status.PENDING and job.due_in <= 0]
        return [job for job in waiting if job.queue not in self.paused and (not queues or job.queue in queues)]

    def refusal(self, ref: ClaimRef) -> type[ClaimError] | None:
        """Why a write with this claim is refused, or None: it holds."""
        job = self.jobs.get(ref.job_id)
        if job is None or job.ref != ref:
            return ClaimLost
        return None if job.lease_left > 0 else ClaimExpired

    def stopped(self, ref: ClaimRef) -> type[Cancelled] | None:
        return Cancelled if self.jobs[ref.job_id].cancel_requested else None

    def answered_before(self, ref: ClaimRef) -> Status | None:
        """The answer to an outcome that was accepted; with a job its history goes, too."""
        return self.accepted.get(ref) if ref.job_id in self.jobs else None

    def end(self, ref: ClaimRef, ending: str) -> Status:
        self.accepted[ref] = self.jobs[ref.job_id].end(ending)
        return self.accepted[ref]

    def can_run_again(self, job: ModelJob) -> bool:
        keeper = self.keeper(job.queue, job.key)
        return keeper is None or keeper is job

    def pass_time(self, seconds: float) -> None:
        self.clock += seconds
        for job in self.jobs.values():
            job.due_in -= seconds
            job.lease_left -= seconds
        for worker in self.workers.values():
            worker.silent_for += seconds

    def pause(self, queue: str, paused: bool) -> bool:
        """Returns whether that changed anything."""
        changed = (queue in self.paused) != paused
        (self.paused.add if paused else self.paused.discard)(queue)
        return changed

    def disable(self, worker_id: UUID, disabled: bool) -> None:
        """Enabled again it is offline until its next heartbeat."""
        worker = self.workers[worker_id]
        worker.live = worker.live and not disabled
        worker.disabled = disabled

    def beat(self, worker: UUID, listed: list[ClaimRef]) -> list[ClaimRef]:
        """Returns the claims that are lost."""
        held = self.held_by(worker)
        for ref, job in held.items():
            if ref in listed:
                job.lease_left, job.unlisted = LEASE, 0
            else:
                job.unlisted += 1
        self.workers[worker].silent_for = 0
        self.workers[worker].live = not self.workers[worker].disabled
        return [ref for ref in listed if ref not in held]

    def reap(self) -> dict[int, Status]:
        """What becomes of the jobs that are taken back."""
        moved = {job.id: job.give_back() for job in self.running() if job.unlisted >= 2}
        for worker in self.workers.values():
            worker.live = worker.live and worker.silent_for < OFFLINE_AFTER
        for job in self.running():
            deserted = job.worker is not None and not self.workers[job.worker].live
            if (job.lease_left <= 0 and deserted) or job.lease_left <= -STALE_LOCK_AGE:
                moved[job.id] = job.crash()
        return moved
