"""The counters agree with the rows, whoever works and folds at the same time."""

import random
from collections import Counter
from collections.abc import Callable
from functools import partial

import pytest
from django.db import transaction

from jobs.handlers.base import ClaimRef
from jobs.lifecycle import counts
from jobs.lifecycle.cancel import cancel
from jobs.lifecycle.claim import claim
from jobs.lifecycle.clear import clear
from jobs.lifecycle.enqueue import enqueue
from jobs.lifecycle.finish import Answer, complete, fail, release
from jobs.lifecycle.retry import retry
from jobs.models import Job, QueueDelta, QueueTotal
from jobs.selectors.depth import counted, queue_depths
from jobs.states import Bucket, Status, bucket_of
from tests.concurrency.threads import Running, together, wait_until
from tests.factories import make_job, make_worker

pytestmark = [pytest.mark.postgres, pytest.mark.django_db(transaction=True)]


ENDINGS: list[Callable[[ClaimRef], Answer]] = [
    complete,
    partial(fail, error="broken"),
    partial(fail, error="hopeless", fatal=True),
    partial(release, reason="shutting down"),
]


def counts_of_rows():
    return Counter((queue, bucket_of(status, hold)) for queue, status, hold in rows())


def rows():
    return Job.objects.values_list("queue", "status", "hold")


def counts_of_counters():
    sums: Counter[tuple[str, Bucket]] = Counter()
    for queue, bucket, jobs in counted():
        sums[queue, Bucket(bucket)] += jobs
    return Counter({key: jobs for key, jobs in sums.items() if jobs})


def work(seed):
    """What workers and people do, at random but the same each time."""
    dice = random.Random(seed)
    worker = make_worker(f"w{seed}")
    for _ in range(12):
        added = enqueue("test.noop", queue=dice.choice(["a", "b"]), backoff="fixed:1000")
        if dice.random() < 0.2:
            cancel(added.job_id)
        for job in claim(worker):
            dice.choice(ENDINGS)(job.claim)
    retry(Job.objects.filter(status=Status.FAILED)[: dice.randint(0, 3)])
    clear(Job.objects.filter(status=Status.COMPLETED)[: dice.randint(0, 3)])


def fold_often():
    return sum(counts.fold() for _ in range(15))


def test_counters_agree_with_the_rows_after_work_and_folds_at_once(monkeypatch):
    monkeypatch.setattr(counts, "FOLD_AT_ONCE", 7)  # many small folds, so that they meet
    done: list[int] = []

    def work_to_the_end(seed):
        try:
            work(seed)
        finally:
            done.append(seed)

    def fold_meanwhile():
        wait_until(lambda: counts.fold() >= 0 and len(done) == 6)

    together([partial(work_to_the_end, seed) for seed in range(6)] + [fold_meanwhile] * 3)
    assert QueueTotal.objects.exists()
    assert counts_of_counters() == counts_of_rows()
    while counts.fold():
        pass
    assert not QueueDelta.objects.exists()
    assert counts_of_counters() == counts_of_rows()


def test_a_fold_in_progress_is_never_seen_half(monkeypatch):
    monkeypatch.setattr(counts, "FOLD_AT_ONCE", 2)
    for number in range(60):
        make_job(queue=f"q{number % 3}")

    def look():
        return {queue_depths().total.pending for _ in range(40)}

    seen = together([fold_often, fold_often, look, look])
    assert seen[2] == seen[3] == {60}
    assert QueueTotal.objects.exists()


def test_two_that_fold_at_once_take_different_deltas_and_do_not_wait(monkeypatch):
    monkeypatch.setattr(counts, "FOLD_AT_ONCE", 4)
    for number in range(8):
        make_job(queue=f"q{number}")
    with transaction.atomic():
        assert counts.fold_batch() == 4
        assert Running(counts.fold_batch).result() == 4
    assert not QueueDelta.objects.exists()
    assert counts_of_counters() == counts_of_rows()
