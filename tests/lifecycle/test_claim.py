"""Claim: which jobs a worker gets, in which order, and what a claim writes."""

from datetime import timedelta
from uuid import uuid4

import pytest

from jobs.exceptions import InvalidInput
from jobs.lifecycle.cancel import cancel
from jobs.lifecycle.claim import claim
from jobs.lifecycle.finish import complete
from jobs.lifecycle.queues import pause, resume
from jobs.lifecycle.reap import reap_once
from jobs.lifecycle.workers import disable, drain
from jobs.models import Job, JobEvent, Worker
from jobs.models.ready_heads import ready_heads
from jobs.selectors.clock import database_now
from jobs.states import TERMINAL, Hold, Status, WorkerStatus
from tests.factories import age, claimed, events_of, job_in, lease_end, make_job, make_worker, reload


def taken(worker: Worker, *queues: str, limit: int = 10) -> list[int]:
    return [job.id for job in claim(worker, queues, limit)]


def test_a_claim_is_worker_claim_id_and_lease():
    worker, job, claim_id = make_worker("w1"), make_job(), uuid4()
    before = database_now()
    claim(worker, claim_id=claim_id)
    held = reload(job)
    assert (held.status, held.worker_id, held.claim_id) == (Status.RUNNING, worker.pk, claim_id)
    assert (held.last_worker_id, held.last_worker_name, held.attempt) == (worker.pk, "w1", 1)
    assert held.claimed_at
    assert held.started_at
    assert (lease_end(job) - held.claimed_at).total_seconds() == pytest.approx(120, abs=1)
    assert (held.claimed_at - before).total_seconds() == pytest.approx(0, abs=3)
    assert (held.started_at - before).total_seconds() == pytest.approx(0, abs=3)


def test_the_event_of_a_claim_says_who_took_what():
    worker, job = make_worker("w1"), make_job()
    ref = claimed(worker, job)
    event = JobEvent.objects.get(job_id=job.pk, name="claimed")
    assert (event.worker_id, event.worker_name, event.claim_id, event.attempt) == (worker.pk, "w1", ref.claim_id, 1)
    assert event.outcome == ""


def test_what_is_handed_over_is_what_was_enqueued():
    make_job(payload={"a": [1]}, subject="a title", max_attempts=5, max_runtime=9)
    [got] = claim(make_worker())
    assert (got.kind, got.queue, got.payload, got.subject) == ("test.noop", "default", {"a": [1]}, "a title")
    assert (got.attempt, got.max_attempts, got.crashes) == (1, 5, 0)
    assert (got.lease, got.max_runtime) == (timedelta(seconds=120), timedelta(seconds=9))
    assert (got.checkpoint, got.phase_results, list(got.completed_qualities)) == (None, {}, [])


def test_high_priority_goes_first_then_age():
    low, old, young, high = (make_job(priority=p) for p in (-1, 0, 0, 1))
    assert taken(make_worker()) == [high.pk, old.pk, young.pk, low.pk]


def test_age_counts_from_when_a_job_was_due_not_from_its_id():
    first = make_job()
    age(10)
    earlier = make_job(run_after=database_now() - timedelta(seconds=60))
    assert taken(make_worker()) == [earlier.pk, first.pk]


def test_no_more_than_the_limit_is_taken():
    jobs = [make_job() for _ in range(5)]
    worker = make_worker(slots=9)
    assert taken(worker, "default", limit=2) == [jobs[0].pk, jobs[1].pk]
    assert taken(worker, limit=1) == [jobs[2].pk]
    assert Job.objects.filter(status=Status.PENDING).count() == 2


def test_the_limit_holds_over_several_queues():
    a, b = make_job(queue="a"), make_job(queue="b")
    make_job(queue="b")
    assert taken(make_worker(), "a", "b", limit=2) == [a.pk, b.pk]


def test_queues_are_served_in_the_order_given_and_no_other():
    a, b, _ = make_job(queue="a"), make_job(queue="b"), make_job(queue="c", priority=9)
    assert taken(make_worker(), "b", "a") == [b.pk, a.pk]


def test_without_queues_all_are_served_the_most_urgent_first():
    low, _, high = make_job(queue="a", priority=-5), make_job(queue="b"), make_job(queue="c", priority=5)
    worker = make_worker()
    assert taken(worker, limit=1) == [high.pk]
    assert taken(worker)[-1] == low.pk


@pytest.mark.parametrize("status", [Status.RUNNING, *TERMINAL])
def test_only_pending_jobs_are_taken(status):
    job_in(status)
    assert taken(make_worker()) == []
    assert taken(make_worker(), "default") == []


def test_what_can_be_served_does_not_lie_in_a_paused_queue():
    make_job(queue="asleep")
    make_job(queue="awake")
    pause("asleep")
    assert [head.queue for head in ready_heads(paused=False)] == ["awake"]
    assert {head.queue for head in ready_heads()} == {"asleep", "awake"}


def test_a_paused_queue_gives_nothing_until_it_is_resumed():
    job, other = make_job(queue="a"), make_job(queue="b")
    pause("a")
    assert taken(make_worker(), "a") == []
    assert taken(make_worker()) == [other.pk]
    resume("a")
    assert taken(make_worker(), "a") == [job.pk]


def test_a_scheduled_job_is_taken_when_it_is_due_and_not_before():
    job = make_job(run_after=database_now() + timedelta(seconds=60))
    worker = make_worker()
    age(55)
    assert taken(worker, "default") == []
    assert reload(job).hold == Hold.SCHEDULED
    age(6)
    assert taken(worker) == [job.pk]
    assert reload(job).hold == Hold.NONE


def test_a_scheduled_job_cancelled_meanwhile_is_not_promoted():
    job = make_job(run_after=database_now() + timedelta(seconds=60))
    cancel(job.pk)
    age(61)
    assert taken(make_worker()) == []
    assert reload(job).status == Status.CANCELLED


@pytest.mark.parametrize("status", [WorkerStatus.OFFLINE, WorkerStatus.DISABLED])
def test_an_offline_or_disabled_worker_takes_nothing_whoever_else_is_there(status):
    worker = make_worker()
    make_job()
    if status == WorkerStatus.DISABLED:
        disable(worker.pk)
    else:
        age(1000)
        reap_once()
    make_worker("another, and idle")
    assert taken(worker) == []
    assert taken(worker, "default") == []


def test_a_draining_worker_takes_nothing():
    worker, other, job = make_worker(), make_worker(), make_job()
    drain(worker.pk)
    assert taken(worker) == []
    assert taken(other) == [job.pk]


def test_a_worker_that_was_deleted_takes_nothing():
    worker = make_worker()
    make_worker("another, and idle")
    make_job()
    gone = Worker.objects.get(pk=worker.pk)
    Worker.objects.filter(pk=worker.pk).delete()
    assert taken(gone) == []


def test_a_worker_that_has_just_registered_may_claim():
    job = make_job()
    assert taken(make_worker(beaten=False)) == [job.pk]


def test_a_worker_is_busy_once_its_slots_are_full_and_idle_while_one_is_free():
    worker = make_worker(slots=2)
    first = claimed(worker)
    assert Worker.objects.get().status == WorkerStatus.IDLE
    claimed(worker)
    assert Worker.objects.get().status == WorkerStatus.BUSY
    complete(first)
    assert Worker.objects.get().status == WorkerStatus.IDLE


@pytest.mark.parametrize("limit", [0, -1, 1001, True, 1.0, "1"])
def test_a_limit_that_makes_no_sense_is_refused(limit):
    with pytest.raises(InvalidInput, match="1 to 1000"):
        claim(make_worker(), limit=limit)


def test_a_job_fetched_ahead_is_not_charged_yet():
    ref = claimed(start=False)
    job = reload(ref)
    assert (job.status, job.attempt, job.started_at) == (Status.RUNNING, 0, None)
    assert events_of(job) == ["enqueued", "claimed"]


def test_each_claim_makes_an_id_of_its_own_unless_given_one():
    assert claimed(make_worker()).claim_id != claimed(make_worker()).claim_id
