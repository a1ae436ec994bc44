"""How many jobs are claimed at once, and from which queues first."""

from collections import Counter

import pytest

from jobs.worker.claiming import AHEAD, MOST_PER_SLOT, BatchSize, QueueShare, queue_order


def noted(*seconds: float) -> BatchSize:
    batch = BatchSize()
    for each in seconds:
        batch.note(each)
    return batch


def test_who_knows_nothing_of_its_jobs_takes_them_one_by_one():
    assert noted().per_slot == 1


@pytest.mark.parametrize("seconds", [0.0, 1e-6, 5e-5])
def test_very_many_quick_jobs_make_batches_large_but_not_too_large(seconds):
    assert noted(*[seconds] * 500).per_slot == MOST_PER_SLOT


def test_a_slot_is_given_about_as_much_as_it_does_in_a_moment():
    assert 40 <= noted(*[AHEAD / 50] * 500).per_slot <= 50


@pytest.mark.parametrize("seconds", [AHEAD * 2, 60.0, 86400.0])
def test_one_slow_job_brings_the_batch_down_at_once_and_never_below_one(seconds):
    assert noted(*[1e-4] * 500, seconds).per_slot == 1


def test_many_quick_jobs_bring_it_up_again():
    slow = [5e-5] * 500 + [1.0]
    assert noted(*slow, *[5e-5] * 10).per_slot == 1
    assert noted(*slow, *[5e-5] * 500).per_slot == MOST_PER_SLOT


def test_queues_without_weights_are_looked_at_in_the_order_given():
    shares = [QueueShare(name) for name in ("urgent", "default", "late")]
    assert all(queue_order(shares) == ["urgent", "default", "late"] for _ in range(20))
    assert queue_order([]) == []


def test_queues_with_weights_come_first_in_proportion_and_each_comes():
    shares = [QueueShare("a", 6), QueueShare("b", 3), QueueShare("c")]
    orders = [queue_order(shares) for _ in range(10_000)]
    assert all(sorted(order) == ["a", "b", "c"] for order in orders)
    first = Counter(order[0] for order in orders)
    assert 5700 < first["a"] < 6300
    assert 2700 < first["b"] < 3300
    assert 800 < first["c"] < 1200
