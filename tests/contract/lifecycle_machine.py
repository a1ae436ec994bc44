"""A machine that does with the lifecycle whatever Hypothesis comes up with, and compares it with the model."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.db import transaction
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from jobs.handlers.base import ClaimRef, Outcome, QualityReport, Report
from jobs.lifecycle import cancel, claim, clear, enqueue, finish, heartbeat, queues, reap, report, retry, start, workers
from jobs.lifecycle.move_to_queue import move_to_queue
from jobs.lifecycle.run_now import run_now
from jobs.models import Worker
from jobs.selectors.clock import database_now
from jobs.states import TERMINAL, QualityStatus, Status, WorkerStatus
from tests.contract import invariants
from tests.contract.lifecycle_model import BACKOFF, CLAIM_IDS_KEPT, LEASE, Model, ModelJob, ModelWorker
from tests.factories import age, make_worker

QUEUES = ["a", "b"]
DERIVED = "derived"  # stands for the key made of kind and payload, which are the same for all jobs here
# No sum of up to fifty of these comes near the ends of a lease, a backoff or a silence.
STEPS_OF_TIME = [47, 47, 47, 131, 131, 3001]

ENDINGS: dict[str, Callable[[ClaimRef], Outcome]] = {
    "complete": lambda ref: Outcome.completed(ref, {"done": True}),
    "fail": lambda ref: Outcome.failed(ref, "broken"),
    "fatal": lambda ref: Outcome.failed(ref, "hopeless", fatal=True),
    "uncounted": lambda ref: Outcome.failed(ref, "not now", retry_after=63, count=False),
    "release": lambda ref: Outcome.released(ref, "shutting down"),
    "cancelled": Outcome.cancelled,
    "crash": lambda ref: Outcome.crashed(ref, "killed by signal 9"),
}
ALWAYS = ["enqueue", "claim", "heartbeat", "time_passes", "reap", "an_operator_speaks"]


class Lifecycle(RuleBasedStateMachine):
    """Each example begins with an empty database: it is a transaction (a savepoint in the test's) that is undone."""

    def __init__(self) -> None:
        super().__init__()
        self.transaction = transaction.atomic()
        self.transaction.__enter__()
        self.model = Model()
        self.refs: list[ClaimRef] = []
        self.takers: dict[UUID, UUID] = {}  # who used which claim id

    def teardown(self) -> None:
        transaction.set_rollback(True)
        self.transaction.__exit__(None, None, None)

    @initialize(data=st.data())
    def begin(self, data):
        for name in ("one", "two"):
            self.model.workers[make_worker(name, slots=2).pk] = ModelWorker()
        for _ in range(4):
            self.enqueue(data.draw)
        self.claim(data.draw)

    @rule(data=st.data())
    def step(self, data):
        """One rule for all verbs: of several, Hypothesis leaves half out of each example, and nothing would happen."""
        verb = data.draw(st.sampled_from(self.verbs()), label="verb")
        getattr(self, verb)(data.draw)

    def verbs(self) -> list[str]:
        """What can be done, what changes something several times: it is drawn the more often."""
        running, workers = self.model.running(), self.model.workers
        verbs = list(ALWAYS)
        verbs += ["finish", "report", "start", "repeat_a_claim"] * bool(self.refs)
        verbs += ["cancel", "run_again", "clear", "run_now", "move"] * bool(self.model.jobs)
        verbs += ["claim"] * 4 * any(self.model.candidates(worker, []) for worker in workers)
        verbs += (["finish"] * 4 + ["start", "report", "time_passes"]) * any(job.lease_left > 0 for job in running)
        verbs += ["reap"] * 4 * any(job.lease_left <= 0 for job in running)
        verbs += ["heartbeat"] * 2 * (not any(worker.live for worker in workers.values()))
        return verbs

    @invariant()
    def invariants_hold_and_the_model_agrees(self):
        jobs = invariants.check_all()
        assert {invariants.row_of(job) for job in jobs} == {job.row() for job in self.model.jobs.values()}
        kept = {pk: job.qualities for pk, job in self.model.jobs.items() if job.qualities}
        assert invariants.completed_qualities() == kept
        for worker_id, status in Worker.objects.values_list("pk", "status"):
            worker = self.model.workers[worker_id]
            assert (status == WorkerStatus.DISABLED) == worker.disabled
            assert (status == WorkerStatus.OFFLINE) == (not worker.live and not worker.disabled)

    # What is picked: of claims, something current about as often as something stale.

    def pick_ref(self, draw) -> ClaimRef:
        current = sorted(job.ref for job in self.model.running() if job.ref)
        return draw(st.sampled_from(current * 3 + self.refs[-3:]), label="claim")

    def pick_job(self, draw) -> ModelJob:
        return self.model.jobs[draw(st.sampled_from(sorted(self.model.jobs)), label="job")]

    def pick_worker(self, draw) -> UUID:
        return draw(st.sampled_from(list(self.model.workers)), label="worker")

    # The verbs.

    def enqueue(self, draw):
        queue, key = draw(st.sampled_from(QUEUES)), draw(st.sampled_from([None, None, "k1", "k2"]), label="key")
        unique, force = draw(st.sampled_from([None, None, None, "active", "ever"]), label="unique"), draw(st.booleans())
        later, max_attempts = draw(st.booleans(), label="later"), draw(st.integers(1, 3), label="max_attempts")
        options: dict[str, Any] = {
            "priority": draw(st.sampled_from([0, 5])),
            "run_after": database_now() + timedelta(seconds=BACKOFF) if later else None,
            "backoff": f"fixed:{BACKOFF}",
        }
        answer = enqueue.enqueue(
            "test.noop", queue=queue, dedupe_key=key, unique=unique, force=force, max_attempts=max_attempts, **options
        )
        key = key or (DERIVED if unique else None)
        if force:
            self.model.free_keys(queue, key)
        keeper = self.model.keeper(queue, key)
        assert answer.created == (keeper is None)
        if keeper:
            assert answer.job_id == keeper.id
        else:
            due_in, pk = BACKOFF if later else 0, answer.job_id
            self.model.jobs[pk] = ModelJob(pk, queue, key, unique == "ever", max_attempts, options["priority"], due_in)

    def claim(self, draw):
        able = [worker_id for worker_id, worker in self.model.workers.items() if worker.live]
        worker_id, claim_id = draw(st.sampled_from(able * 3 + list(self.model.workers)), label="worker"), uuid4()
        wanted = draw(st.sampled_from([[], ["a"], ["b", "a"]]), label="queues")
        limit, begin = draw(st.integers(1, 3), label="limit"), draw(st.booleans(), label="start")
        candidates = {job.id: job for job in self.model.candidates(worker_id, wanted)}
        habit = claim.Habit(is_plain=len(wanted) == 1 and draw(st.booleans(), label="plainly"))  # of one queue
        taken = claim.claim(Worker.objects.get(pk=worker_id), wanted, limit, claim_id, start=begin, habit=habit)
        assert len(taken) == min(limit, len(candidates))
        for job in taken:
            mine = candidates.pop(job.id)
            mine.take(job.claim, worker_id, begin)
            assert job.attempt == mine.attempt
            self.refs.append(job.claim)
            self.takers[claim_id], self.model.claimed_at[claim_id] = worker_id, self.model.clock
        for mine in [self.model.jobs[job.id] for job in taken]:
            assert all(mine.priority >= left.priority for left in candidates.values() if left.queue == mine.queue)

    def repeat_a_claim(self, draw):
        claim_id = draw(st.sampled_from(list(self.takers)), label="claim id")
        if self.model.clock - self.model.claimed_at[claim_id] > CLAIM_IDS_KEPT:
            return  # nobody asks for so long, and the id is no longer known
        worker_id = draw(st.sampled_from([self.takers[claim_id], *self.model.workers]), label="worker")
        habit = claim.Habit(is_plain=draw(st.booleans(), label="plainly"))
        again = claim.claim(Worker.objects.get(pk=worker_id), [], 3, claim_id, habit=habit)
        held = [ref for ref in self.model.held_by(worker_id) if ref.claim_id == claim_id]
        assert sorted(job.claim for job in again) == sorted(held)
        for ref in held:
            self.model.jobs[ref.job_id].lease_left, self.model.jobs[ref.job_id].unlisted = LEASE, 0

    def start(self, draw):
        ref = self.pick_ref(draw)
        refusal = self.model.refusal(ref) or self.model.stopped(ref)
        if refusal:
            with pytest.raises(refusal):
                start.start(ref)
            return
        job = self.model.jobs[ref.job_id]
        if not job.started:
            job.started, job.attempt, job.lease_left = True, job.attempt + 1, LEASE
        job.unlisted = 0
        assert start.start(ref) == job.attempt

    def heartbeat(self, draw):
        worker_id = self.pick_worker(draw)
        held = self.model.held_by(worker_id)
        some = st.lists(st.sampled_from(self.refs), max_size=3, unique=True) if self.refs else st.just([])
        self.beat(worker_id, list(held) if draw(st.booleans(), label="lists all") else draw(some, label="lists"))

    def beat(self, worker_id, listed):
        held = self.model.held_by(worker_id)
        orders = heartbeat.heartbeat(worker_id, listed)
        assert list(orders.lost) == self.model.beat(worker_id, listed)
        assert set(orders.cancel) == {ref for ref in listed if ref in held and held[ref].cancel_requested}
        assert orders.disabled == self.model.workers[worker_id].disabled

    def time_passes(self, draw):
        seconds = draw(st.sampled_from(STEPS_OF_TIME), label="seconds")
        age(seconds)
        self.model.pass_time(seconds)
        for worker_id in self.model.workers:
            if draw(st.booleans(), label="beats meanwhile"):
                self.beat(worker_id, list(self.model.held_by(worker_id)))

    def reap(self, draw):
        result, moved = reap.reap_once(), self.model.reap()
        assert set(result.requeued + result.released) == {pk for pk, to in moved.items() if to == Status.PENDING}
        assert set(result.failed) == {pk for pk, to in moved.items() if to == Status.FAILED}
        assert set(result.cancelled) == {pk for pk, to in moved.items() if to == Status.CANCELLED}

    def finish(self, draw):
        ref, ending = self.pick_ref(draw), draw(st.sampled_from(sorted(ENDINGS)), label="ending")
        refusal, answered_before = self.model.refusal(ref), self.model.answered_before(ref)
        if refusal and not answered_before:
            with pytest.raises(refusal):
                finish.finish_one(ENDINGS[ending](ref))
            return
        expected = answered_before or self.model.end(ref, ending)
        answer = finish.finish_one(ENDINGS[ending](ref))
        assert (answer.status, answer.repeated) == (expected, bool(refusal))

    def report(self, draw):
        ref, quality = self.pick_ref(draw), draw(st.sampled_from(["720p", "1080p"]))
        what = Report(ref, progress=50, qualities=[QualityReport(quality, QualityStatus.COMPLETED)])
        if refusal := self.model.refusal(ref):
            with pytest.raises(refusal):
                report.report(what)
        else:
            report.report(what)
            self.model.jobs[ref.job_id].lease_left = LEASE
            self.model.jobs[ref.job_id].unlisted = 0
            self.model.jobs[ref.job_id].qualities.add(quality)

    def cancel(self, draw):
        job = self.pick_job(draw)
        result = cancel.cancel(job.id)
        if job.status == Status.PENDING:
            assert result.cancelled == [job.id]
            job.move(Status.CANCELLED)
        elif job.status == Status.RUNNING and not job.cancel_requested:
            assert result.requested == [job.id]
            job.cancel_requested = True
        else:
            assert result.skipped == [job.id]

    def run_again(self, draw):
        job, from_nothing = self.pick_job(draw), draw(st.booleans(), label="from nothing")
        allowed = TERMINAL if from_nothing else (Status.FAILED, Status.CANCELLED)
        moves = job.status in allowed and self.model.can_run_again(job)
        result = (retry.requeue if from_nothing else retry.retry)(job.id)
        assert (result.moved, list(result.skipped)) == (([job.id], []) if moves else ([], [job.id]))
        if moves:
            job.again(from_nothing=from_nothing)

    def run_now(self, draw):
        """Of those that are due, some still have their hold: to take it off early makes no difference."""
        job = self.pick_job(draw)
        moved = run_now(job.id).moved
        if job.status == Status.PENDING and job.due_in > 0:
            assert moved == [job.id]
        elif job.status != Status.PENDING:
            assert moved == []
        if moved:
            job.due_in = 0

    def move(self, draw):
        job, queue = self.pick_job(draw), draw(st.sampled_from(QUEUES), label="queue")
        free = queue == job.queue or self.model.keeper(queue, job.key) is None
        moves = job.status == Status.PENDING and free
        result = move_to_queue(job.id, queue)
        assert (result.moved, list(result.skipped)) == (([job.id], []) if moves else ([], [job.id]))
        if moves:
            job.queue = queue

    def clear(self, draw):
        job = self.pick_job(draw)
        assert clear.clear(job.id) == ([job.id] if job.status in TERMINAL else [])
        if job.status in TERMINAL:
            del self.model.jobs[job.id]

    def an_operator_speaks(self, draw):
        word = draw(st.sampled_from(["disable", "enable", "enable", "pause", "resume", "resume"]), label="word")
        if word in ("pause", "resume"):
            queue = draw(st.sampled_from(QUEUES))
            assert getattr(queues, word)(queue) == self.model.pause(queue, word == "pause")
        else:
            worker_id = self.pick_worker(draw)
            getattr(workers, word)(worker_id)
            self.model.disable(worker_id, word == "disable")
