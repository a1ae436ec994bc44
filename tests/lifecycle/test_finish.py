"""Finish: the outcome of a claim becomes the state of its job, once."""

import pytest

from jobs.exceptions import ClaimLost
from jobs.handlers.base import Outcome
from jobs.lifecycle.cancel import cancel
from jobs.lifecycle.finish import complete, fail, finish, release
from jobs.lifecycle.heartbeat import heartbeat
from jobs.lifecycle.reap import reap_once
from jobs.lifecycle.retry import requeue
from jobs.models import Job, JobEvent, Worker
from jobs.states import Hold, Status, WorkerStatus
from tests.factories import age, claimed, events_of, make_worker, reload


def test_a_completed_job_has_its_result_and_no_claim():
    ref = claimed(make_worker("w1"))
    answer = complete(ref, {"files": 3})
    job = reload(ref)
    assert (answer.status, answer.repeated) == (Status.COMPLETED, False)
    assert (job.status, job.result, job.progress, job.attempt) == (Status.COMPLETED, {"files": 3}, 100, 1)
    assert (job.claim_id, job.worker_id, job.claimed_at, job.lease_expires_at) == (None, None, None, None)
    assert job.finished_at is not None


def test_the_event_that_ends_a_claim_stores_claim_and_outcome():
    ref = claimed(worker := make_worker("w1"))
    complete(ref)
    event = JobEvent.objects.get(name="completed")
    assert (event.claim_id, event.outcome, event.attempt) == (ref.claim_id, "completed", 1)
    assert (event.worker_id, event.worker_name) == (worker.pk, "w1")
    assert events_of(ref) == ["enqueued", "claimed", "completed"]


def test_the_last_worker_stays_known_after_the_claim_and_after_the_worker():
    ref = claimed(worker := make_worker("w1"))
    complete(ref)
    Worker.objects.all().delete()
    job = reload(ref)
    assert (job.last_worker_id, job.last_worker_name) == (worker.pk, "w1")


@pytest.mark.parametrize("end", [complete, lambda ref: fail(ref, "broken"), lambda ref: release(ref, "not now")])
def test_the_worker_is_idle_again(end):
    ref = claimed(make_worker())
    assert Worker.objects.get().status == WorkerStatus.BUSY
    end(ref)
    assert Worker.objects.get().status == WorkerStatus.IDLE


def test_finishing_does_not_bring_a_disabled_or_offline_worker_back():
    disabled, offline = make_worker("disabled"), make_worker("offline")
    refs = [claimed(disabled), claimed(offline)]
    Worker.objects.filter(pk=disabled.pk).update(status=WorkerStatus.DISABLED)
    Worker.objects.filter(pk=offline.pk).update(status=WorkerStatus.OFFLINE)
    finish([Outcome.completed(ref) for ref in refs])
    assert dict(Worker.objects.values_list("name", "status")) == {"disabled": "disabled", "offline": "offline"}


def test_a_failure_with_attempts_left_waits_for_its_backoff():
    ref = claimed(backoff="fixed:40")
    answer = fail(ref, ValueError("no such file"))
    assert (answer.status, answer.reason) == (Status.PENDING, "in 40.0 s: ValueError: no such file")
    job = reload(ref)
    assert (job.status, job.hold, job.attempt, job.crashes) == (Status.PENDING, Hold.SCHEDULED, 1, 0)
    event = JobEvent.objects.get(name="retrying")
    assert (job.run_after - event.at).total_seconds() == pytest.approx(40, abs=1)
    assert job.last_error == "ValueError: no such file"
    assert "ValueError: no such file" in job.last_traceback
    assert (event.reason, event.outcome) == ("in 40.0 s: ValueError: no such file", "pending")


def test_a_failure_without_backoff_is_due_at_once():
    ref = claimed(backoff="fixed:0")
    fail(ref, "broken")
    assert reload(ref).hold == Hold.NONE
    claimed(job=reload(ref))


def test_a_fatal_failure_ends_the_job_whatever_attempts_are_left():
    ref = claimed(max_attempts=5)
    assert fail(ref, "the source is no video", fatal=True).status == Status.FAILED
    job = reload(ref)
    assert (job.status, job.attempt, job.last_error) == (Status.FAILED, 1, "the source is no video")
    assert events_of(ref)[-1] == "failed"


def test_a_job_that_succeeds_after_a_failure_keeps_the_error_in_its_history():
    ref = claimed(backoff="fixed:0")
    fail(ref, "broken")
    complete(claimed(job=reload(ref)))
    assert events_of(ref) == ["enqueued", "claimed", "retrying", "claimed", "completed"]


# One accepted outcome per claim


@pytest.mark.parametrize(
    ("end", "status"),
    [
        (lambda ref: complete(ref, 1), Status.COMPLETED),
        (lambda ref: fail(ref, "broken"), Status.PENDING),
        (lambda ref: fail(ref, "broken", fatal=True), Status.FAILED),
        (lambda ref: release(ref, "not now"), Status.PENDING),
    ],
)
def test_a_repeated_finish_gets_the_same_answer_and_changes_nothing(end, status):
    ref = claimed()
    first = end(ref)
    before = list(Job.objects.values()), JobEvent.objects.count()
    again = end(ref)
    assert (first.status, first.repeated) == (status, False)
    assert again == first._replace(repeated=True)
    assert (list(Job.objects.values()), JobEvent.objects.count()) == before


def test_the_first_outcome_counts_whatever_the_second_says():
    ref = claimed()
    complete(ref, "first")
    assert fail(ref, "second", fatal=True).status == Status.COMPLETED
    assert reload(ref).result == "first"


def test_a_finish_is_answered_alike_after_the_job_was_requeued_and_claimed_by_another():
    old = claimed(make_worker("old"))
    complete(old, "first")
    requeue(old.job_id)
    new = claimed(make_worker("new"), reload(old))
    again = complete(old, "late")
    assert (again.status, again.repeated) == (Status.COMPLETED, True)
    job = reload(old)
    assert (job.status, job.claim_id, job.result) == (Status.RUNNING, new.claim_id, None)


def test_a_release_is_answered_alike_while_the_same_worker_holds_the_job_again():
    old = claimed(worker := make_worker())
    release(old, "not now")
    new = claimed(worker, reload(old))
    assert release(old, "not now").repeated
    assert reload(old).claim_id == new.claim_id


@pytest.mark.parametrize("max_attempts", [1, 3])
def test_the_late_finish_of_a_reaped_claim_is_lost(max_attempts):
    ref = claimed(max_attempts=max_attempts)
    age(1000)
    reap_once()
    with pytest.raises(ClaimLost):
        complete(ref, "late")
    assert reload(ref).result is None


def test_the_late_finish_of_a_claim_reaped_after_a_cancel_request_is_lost():
    ref = claimed()
    cancel(ref.job_id)
    age(1000)
    reap_once()
    with pytest.raises(ClaimLost):
        complete(ref)
    assert reload(ref).status == Status.CANCELLED


def test_the_late_finish_of_a_claim_released_as_unlisted_is_lost():
    ref = claimed(worker := make_worker())
    heartbeat(worker.pk)
    heartbeat(worker.pk)
    reap_once()
    with pytest.raises(ClaimLost):
        complete(ref)
