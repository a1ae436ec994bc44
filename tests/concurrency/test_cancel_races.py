"""Cancel against the others: cancelled never runs again by itself, and a committed completion stays."""

from functools import partial

import pytest
from django.db import transaction

from jobs.exceptions import Cancelled
from jobs.lifecycle.cancel import cancel
from jobs.lifecycle.claim import claim
from jobs.lifecycle.finish import complete, fail, release
from jobs.lifecycle.retry import NOT_RETRYABLE, retry
from jobs.lifecycle.start import start
from jobs.states import Status
from tests.concurrency.threads import Running, together
from tests.factories import claimed, events_of, job_in, make_job, make_worker, reload

pytestmark = [pytest.mark.postgres, pytest.mark.django_db(transaction=True)]


def test_a_job_being_cancelled_is_not_claimed():
    job, worker = make_job(), make_worker()
    with transaction.atomic():
        assert cancel(job.pk).cancelled == [job.pk]
        assert Running(partial(claim, worker)).result() == []
    assert claim(worker) == []
    assert reload(job).status == Status.CANCELLED


def test_a_cancel_that_meets_a_claim_becomes_a_request():
    job, worker = make_job(), make_worker()
    with transaction.atomic():
        claim(worker)
        cancelling = Running(partial(cancel, job.pk))
        cancelling.wait_until_blocked()
    assert cancelling.result().requested == [job.pk]
    assert reload(job).status == Status.RUNNING


def test_a_completion_that_commits_first_stays():
    ref = claimed()
    with transaction.atomic():
        complete(ref)
        cancelling = Running(partial(cancel, ref.job_id))
        cancelling.wait_until_blocked()
    assert cancelling.result().skipped == [ref.job_id]
    assert reload(ref).status == Status.COMPLETED
    assert events_of(ref) == ["enqueued", "claimed", "completed"]


def test_a_completion_after_the_request_is_a_completion():
    ref = claimed()
    with transaction.atomic():
        cancel(ref.job_id)
        completing = Running(partial(complete, ref))
        completing.wait_until_blocked()
    assert completing.result().status == Status.COMPLETED


@pytest.mark.parametrize("late", [partial(fail, error="broken"), partial(release, reason="shutting down")])
def test_what_would_put_the_job_back_cancels_it_after_a_request(late):
    ref = claimed()
    with transaction.atomic():
        assert cancel(ref.job_id).requested == [ref.job_id]
        ending = Running(partial(late, ref))
        ending.wait_until_blocked()
    assert ending.result().status == Status.CANCELLED
    assert events_of(ref).count("cancelled") == 1


@pytest.mark.parametrize("first", [partial(fail, error="broken"), partial(release, reason="shutting down")])
def test_a_cancel_that_meets_a_job_put_back_cancels_it_at_once(first):
    ref = claimed()
    with transaction.atomic():
        assert first(ref).status == Status.PENDING
        cancelling = Running(partial(cancel, ref.job_id))
        cancelling.wait_until_blocked()
    assert cancelling.result().cancelled == [ref.job_id]
    assert events_of(ref)[-1] == "cancelled"
    assert claim(make_worker("other")) == []


def test_a_prefetched_job_that_was_cancelled_does_not_start():
    ref = claimed(start=False)
    with transaction.atomic():
        cancel(ref.job_id)
        starting = Running(partial(start, ref))
        starting.wait_until_blocked()
    with pytest.raises(Cancelled):
        starting.result()
    assert reload(ref).attempt == 0


def test_a_start_that_commits_first_runs_until_the_request_is_read():
    ref = claimed(start=False)
    with transaction.atomic():
        assert start(ref) == 1
        cancelling = Running(partial(cancel, ref.job_id))
        cancelling.wait_until_blocked()
    assert cancelling.result().requested == [ref.job_id]
    assert release(ref, "told to").status == Status.CANCELLED


def test_a_cancel_beside_a_retry_that_has_not_committed_does_not_undo_it():
    job = job_in(Status.FAILED)
    with transaction.atomic():
        assert retry(job.pk).moved == [job.pk]
        assert Running(partial(cancel, job.pk)).result().skipped == [job.pk]  # it is still failed for all others
    assert reload(job).status == Status.PENDING
    assert cancel(job.pk).cancelled == [job.pk]


def test_a_retry_beside_a_cancel_that_has_not_committed_leaves_the_job_cancelled():
    job = make_job()
    with transaction.atomic():
        cancel(job.pk)
        assert Running(partial(retry, job.pk)).result().skipped == {job.pk: NOT_RETRYABLE}
    assert reload(job).status == Status.CANCELLED


def test_many_cancels_at_once_write_one_event():
    jobs = [make_job().pk for _ in range(5)]
    results = together([partial(cancel, jobs) for _ in range(8)])
    assert sorted(job for result in results for job in result.cancelled) == jobs
    assert all(events_of(job) == ["enqueued", "cancelled"] for job in jobs)


def test_many_finishes_of_one_claim_at_once_are_one():
    ref = claimed()
    answers = together([partial(complete, ref, {"from": number}) for number in range(8)])
    assert {answer.status for answer in answers} == {Status.COMPLETED}
    assert [answer.repeated for answer in answers].count(False) == 1
    assert events_of(ref) == ["enqueued", "claimed", "completed"]


def test_a_completion_and_a_release_of_one_claim_get_the_answer_of_the_first():
    ref = claimed()
    with transaction.atomic():
        complete(ref)
        releasing = Running(partial(release, ref, "late"))
        releasing.wait_until_blocked()
    assert (releasing.result().status, releasing.result().repeated) == (Status.COMPLETED, True)
