"""One dedupe key from many sides at once: one row, and everybody is told which."""

from functools import partial

import pytest
from django.db import transaction

from jobs.lifecycle.by_batch import DUPLICATE
from jobs.lifecycle.claim import claim
from jobs.lifecycle.enqueue import enqueue
from jobs.lifecycle.enqueue_many import enqueue_many
from jobs.lifecycle.finish import complete
from jobs.lifecycle.new_job import NewJob
from jobs.lifecycle.retry import retry
from jobs.models import Job, JobEvent, QueueDelta
from jobs.states import Status
from tests.concurrency.threads import Running, rolled_back, together
from tests.factories import claimed, events_of, job_in, make_worker, reload

pytestmark = pytest.mark.django_db(transaction=True)
postgres = pytest.mark.postgres

add = partial(enqueue, "test.noop", dedupe_key="k")


@pytest.mark.parametrize("unique", [None, "ever"])
def test_a_thousand_enqueues_of_one_key_make_one_row(unique):
    def fifty():
        return [add(unique=unique) for _ in range(50)]

    answers = [answer for part in together([fifty] * 20) for answer in part]
    [job] = Job.objects.all()
    assert {answer.job_id for answer in answers} == {job.pk}
    assert [answer.created for answer in answers].count(True) == 1
    assert events_of(job) == ["enqueued"]


def test_many_bulk_enqueues_of_the_same_keys_make_each_once():
    jobs = [NewJob("test.noop", dedupe_key=f"k{number:02}") for number in range(40)]
    results = together([partial(enqueue_many, jobs)] * 6)
    assert Job.objects.count() == 40
    assert sum(len(result.created) for result in results) == 40
    assert sum(len(result.met) for result in results) == 200


@postgres
def test_an_enqueue_waits_for_another_with_its_key_and_is_told_of_it():
    with transaction.atomic():
        first = add()
        second = Running(add)
        second.wait_until_blocked()
    assert second.result().job_id == first.job_id
    assert not second.result().created


@postgres
def test_an_enqueue_takes_the_key_if_the_first_is_rolled_back():
    with rolled_back():
        add()
        second = Running(add)
        second.wait_until_blocked()
    assert second.result().created
    assert list(Job.objects.values_list("pk", flat=True)) == [second.result().job_id]


@postgres
def test_an_enqueue_that_meets_a_retry_of_its_key_is_told_of_the_retried_job():
    job = job_in(Status.FAILED, dedupe_key="k")
    with transaction.atomic():
        assert retry(job.pk).moved == [job.pk]
        adding = Running(add)
        adding.wait_until_blocked()
    assert (adding.result().job_id, adding.result().created) == (job.pk, False)


@postgres
def test_an_enqueue_that_meets_a_retry_that_is_rolled_back_makes_a_job():
    job = job_in(Status.FAILED, dedupe_key="k")
    with rolled_back():
        retry(job.pk)
        adding = Running(add)
        adding.wait_until_blocked()
    assert adding.result().created
    assert reload(job).status == Status.FAILED


@postgres
def test_a_retry_that_meets_an_enqueue_of_its_key_reports_the_duplicate():
    job, other = job_in(Status.FAILED, dedupe_key="k"), job_in(Status.FAILED)
    with transaction.atomic():
        add()
        retrying = Running(partial(retry, [job.pk, other.pk]))
        retrying.wait_until_blocked()
    result = retrying.result()
    assert (result.moved, result.skipped) == ([other.pk], {job.pk: DUPLICATE})
    assert reload(job).status == Status.FAILED


@postgres
def test_a_retry_that_meets_an_enqueue_that_is_rolled_back_goes_on():
    job = job_in(Status.FAILED, dedupe_key="k")
    with rolled_back():
        add()
        retrying = Running(partial(retry, job.pk))
        retrying.wait_until_blocked()
    assert retrying.result().moved == [job.pk]


@postgres
def test_an_enqueue_that_meets_the_end_of_the_job_with_its_key_makes_a_new_one():
    ref = claimed(dedupe_key="k")
    with transaction.atomic():
        complete(ref)
        adding = Running(add)
        adding.wait_until_blocked()
    assert adding.result().created


@postgres
def test_an_enqueue_that_meets_the_end_of_a_job_unique_for_ever_is_told_of_it():
    ref = claimed(dedupe_key="k", unique="ever")
    with transaction.atomic():
        complete(ref)
        adding = Running(add)
        adding.wait_until_blocked()
    assert (adding.result().job_id, adding.result().created) == (ref.job_id, False)


@postgres
def test_a_forced_enqueue_that_meets_that_end_makes_a_new_one():
    ref = claimed(dedupe_key="k", unique="ever")
    with transaction.atomic():
        complete(ref)
        adding = Running(partial(add, unique="ever", force=True))
        adding.wait_until_blocked()
    assert adding.result().created
    assert list(Job.objects.filter(unique_ever=True).values_list("pk", flat=True)) == [adding.result().job_id]


@postgres
def test_two_forced_enqueues_at_once_make_one_job():
    job_in(Status.COMPLETED, dedupe_key="k", unique="ever")
    answers = together([partial(add, unique="ever", force=True)] * 6)
    assert [answer.created for answer in answers].count(True) == 1
    assert len({answer.job_id for answer in answers}) == 1
    assert Job.objects.filter(status=Status.PENDING).count() == 1


@postgres
def test_an_enqueue_that_is_rolled_back_never_runs():
    worker = make_worker()
    with rolled_back():
        add()
        assert Running(partial(claim, worker)).result() == []
    assert claim(worker) == []
    assert not Job.objects.exists()
    assert not JobEvent.objects.exclude(job_id=None).exists()
    assert not QueueDelta.objects.exists()
