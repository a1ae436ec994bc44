"""Guards that no other test of the verbs would miss; each was found by taking it away."""

import pytest

from jobs.exceptions import ClaimLost
from jobs.lifecycle.cancel import cancel
from jobs.lifecycle.claim import claim
from jobs.lifecycle.enqueue import enqueue
from jobs.lifecycle.finish import complete, fail
from jobs.lifecycle.heartbeat import heartbeat
from jobs.lifecycle.promote import promote_due
from jobs.lifecycle.reap import reap_once
from jobs.lifecycle.retry import retry
from jobs.models import Job
from jobs.states import Hold, Status
from tests.factories import age, claimed, job_in, make_job, make_worker, reload

pytestmark = pytest.mark.django_db


def test_an_uncounted_failure_before_the_start_gives_nothing_back():
    """The attempt was not charged yet: it must not fall below zero, nor the job be left running."""
    ref = claimed(start=False)
    assert fail(ref, "not now", retry_after=60, count=False).status == Status.PENDING
    assert reload(ref).attempt == 0


def test_what_is_ready_or_over_is_not_promoted():
    make_job()
    ended = job_in(Status.CANCELLED)
    Job.objects.filter(pk=ended.pk).update(hold=Hold.SCHEDULED)
    assert promote_due() == 0
    assert reload(ended).hold == Hold.SCHEDULED


def test_a_lost_claim_is_not_given_the_answer_of_the_claim_that_followed():
    lost = claimed()
    age(300)
    reap_once()
    followed = claimed(make_worker("other"), reload(lost))
    complete(followed)
    with pytest.raises(ClaimLost):
        complete(lost)
    assert complete(followed).repeated


def test_of_two_jobs_claimed_together_each_needs_its_own_outcome():
    make_job(), make_job()
    worker = make_worker(slots=2)
    first, second = (job.claim for job in claim(worker, limit=2))
    complete(first)
    heartbeat(worker.pk), heartbeat(worker.pk)  # the second one is not listed, and goes back
    assert reap_once().released == [second.job_id]
    with pytest.raises(ClaimLost):
        complete(second)
    assert reload(second).status == Status.PENDING


def test_the_job_of_a_silent_worker_is_taken_while_another_worker_lives():
    ref = claimed(make_worker("silent"))
    age(300)
    make_worker("lively")
    assert reap_once().requeued == [ref.job_id]


@pytest.mark.parametrize("start", [True, False])
def test_a_job_with_a_cancel_request_is_cancelled_when_its_worker_is_gone(start):
    ref = claimed(start=start)
    cancel(ref.job_id)
    age(300)
    assert reap_once().cancelled == [ref.job_id]
    assert reload(ref).status == Status.CANCELLED


def test_a_job_with_a_cancel_request_is_cancelled_when_its_worker_does_not_list_it():
    worker = make_worker()
    ref = claimed(worker)
    cancel(ref.job_id)
    heartbeat(worker.pk), heartbeat(worker.pk)
    assert reap_once().cancelled == [ref.job_id]


def test_a_duplicate_meets_the_active_job_and_not_one_that_had_the_key_before_or_after():
    before = job_in(Status.COMPLETED, dedupe_key="k")
    active = job_in(Status.FAILED, dedupe_key="k")
    after = job_in(Status.COMPLETED, dedupe_key="k")
    retry(active.pk)
    assert before.pk < active.pk < after.pk
    assert enqueue("test.noop", dedupe_key="k").job_id == active.pk


def test_a_key_that_is_unique_while_active_is_free_afterwards():
    job_in(Status.COMPLETED, dedupe_key="k", unique="active")
    assert enqueue("test.noop", dedupe_key="k", unique="active").created
