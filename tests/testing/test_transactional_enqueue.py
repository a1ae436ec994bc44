"""`on_commit` is not needed: a job is enqueued by the caller's transaction, or not at all."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connections, transaction

from jobs import NewJob, enqueue, enqueue_many
from jobs.lifecycle.claim import claim
from jobs.models import Job
from jobs.testing import assert_not_enqueued, drain
from tests.factories import make_worker


@pytest.mark.usefixtures("database")
def test_what_is_rolled_back_leaves_no_job():
    with pytest.raises(ZeroDivisionError), transaction.atomic():  # noqa: PT012  the rollback is the point
        enqueue("test.noop")
        enqueue_many([NewJob("test.noop"), NewJob("test.noop")])
        _ = 1 / 0
    assert_not_enqueued()
    assert drain() == []


@pytest.mark.usefixtures("database")
def test_an_inner_block_that_is_rolled_back_takes_its_own_job_only():
    with transaction.atomic():
        kept = enqueue("test.noop").job_id
        with pytest.raises(ZeroDivisionError), transaction.atomic():  # noqa: PT012  the rollback is the point
            enqueue("test.noop")
            _ = 1 / 0
    assert [job.pk for job in drain()] == [kept]


def seen_by_a_worker() -> list[int]:
    """What another connection finds, as a worker does before it claims."""

    def look() -> list[int]:
        try:
            return list(Job.objects.ready("default").values_list("pk", flat=True))
        finally:
            connections.close_all()

    with ThreadPoolExecutor(1) as other:
        return other.submit(look).result()


@pytest.mark.django_db(transaction=True)
def test_no_worker_sees_a_job_before_the_commit_and_every_worker_after_it():
    with transaction.atomic():
        job_id = enqueue("test.noop").job_id
        assert seen_by_a_worker() == []
    assert seen_by_a_worker() == [job_id]


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_a_claim_made_meanwhile_gets_nothing_and_does_not_wait():
    worker = make_worker()

    def take() -> list[int]:
        try:
            return [job.id for job in claim(worker)]
        finally:
            connections.close_all()

    with ThreadPoolExecutor(1) as other:
        with transaction.atomic():
            job_id = enqueue("test.noop").job_id
            assert other.submit(take).result(timeout=20) == []
        assert other.submit(take).result(timeout=20) == [job_id]
