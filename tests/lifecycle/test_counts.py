"""Counts: every verb moves a job from one bucket to another, in the transaction that moves the job."""

from datetime import timedelta

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext

from jobs.lifecycle.cancel import cancel
from jobs.lifecycle.claim import claim
from jobs.lifecycle.clear import clear
from jobs.lifecycle.counts import fold
from jobs.lifecycle.finish import complete, fail, release
from jobs.lifecycle.retry import requeue
from jobs.models import QueueDelta, QueueTotal
from jobs.selectors.clock import database_now
from tests.factories import age, claimed, kept_counts, make_job, make_worker, reload


def buckets() -> dict[str, int]:
    return {bucket: jobs for (_, bucket), jobs in kept_counts().items()}


def test_each_verb_moves_a_job_to_its_bucket():
    job = make_job(run_after=database_now() + timedelta(seconds=30))
    assert buckets() == {"scheduled": 1}
    age(31)
    ref = claimed(job=job)
    assert buckets() == {"running": 1}
    release(ref, "not now")
    assert buckets() == {"pending": 1}
    fail(claimed(job=reload(job)), "broken")
    assert buckets() == {"scheduled": 1}
    age(100)
    fail(claimed(job=reload(job)), "broken", fatal=True)
    assert buckets() == {"failed": 1}
    requeue(job.pk)
    assert buckets() == {"pending": 1}
    complete(claimed(job=reload(job)))
    assert buckets() == {"completed": 1}
    requeue(job.pk)
    cancel(job.pk)
    assert buckets() == {"cancelled": 1}
    clear(job.pk)
    assert buckets() == {}


def test_queues_are_counted_apart():
    for queue in ("a", "a", "b"):
        make_job(queue=queue)
    claim(make_worker(), ["a"])
    assert kept_counts() == {("a", "pending"): 1, ("a", "running"): 1, ("b", "pending"): 1}


def test_what_is_rolled_back_was_not_counted():
    ref = claimed()
    with transaction.atomic():
        complete(ref)
        transaction.set_rollback(True)  # the caller changes its mind
    assert buckets() == {"running": 1}


def test_a_claim_that_found_nothing_counts_nothing():
    claim(make_worker())
    assert not QueueDelta.objects.exists()


def test_folding_moves_all_deltas_into_the_totals_and_changes_no_count():
    for queue in ("a", "b"):
        complete(claimed(queue=queue))
    before, deltas = kept_counts(), QueueDelta.objects.count()
    assert fold() == deltas
    assert not QueueDelta.objects.exists()
    assert kept_counts() == before
    make_job(queue="a")
    deltas = QueueDelta.objects.count()
    assert deltas > 0
    assert fold() == deltas
    assert QueueTotal.objects.get(queue="a", bucket="pending").jobs == 1
    assert fold() == 0


@pytest.mark.parametrize("at_once", [1, 2, 5, 6, 10])
def test_folding_goes_on_batch_by_batch_until_nothing_is_left(monkeypatch, at_once):
    monkeypatch.setattr("jobs.lifecycle.counts.FOLD_AT_ONCE", at_once)
    for _ in range(3):
        make_job()
    deltas = QueueDelta.objects.count()
    assert deltas >= 3
    assert [fold(), fold()] == [deltas, 0]
    assert buckets() == {"pending": 3}


def test_folding_takes_a_few_statements_however_many_queues_there_are():
    for number in range(50):
        make_job(queue=f"q{number}")
    deltas = QueueDelta.objects.count()
    with CaptureQueriesContext(connection) as statements:
        assert fold() == deltas >= 50
    assert len(statements) <= 8


def test_what_came_and_went_leaves_a_total_of_zero():
    clear(cancel(make_job().pk).cancelled)
    fold()
    assert set(QueueTotal.objects.values_list("jobs", flat=True)) == {0}
