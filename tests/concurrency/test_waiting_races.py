"""Waiting under races: whoever waits is let go once, by whoever comes last, and nobody waits in a circle."""

import random
from functools import partial

import pytest
from django.db import transaction

from jobs.handlers.base import Outcome, Spawn
from jobs.lifecycle.cancel import cancel
from jobs.lifecycle.claim import claim
from jobs.lifecycle.enqueue import enqueue
from jobs.lifecycle.enqueue_many import enqueue_many
from jobs.lifecycle.finish import complete, finish, finish_one
from jobs.lifecycle.new_job import NewJob
from jobs.lifecycle.prioritise import set_priority
from jobs.lifecycle.retry import retry
from jobs.lifecycle.spawn import spawn
from jobs.models import Job, Worker
from jobs.states import Hold, Status
from tests.concurrency.threads import Running, scalar, together
from tests.factories import claimed, kept_counts, make_job, make_worker, real_counts, reload

pytestmark = [pytest.mark.postgres, pytest.mark.django_db(transaction=True)]


def test_of_two_that_end_at_once_the_second_lets_go():
    one, other = claimed(make_worker(), queue="a"), claimed(make_worker("w"), queue="b")
    job = make_job(after=[one.job_id, other.job_id])
    with transaction.atomic():
        complete(one)
        assert (reload(job).hold, reload(job).waits_for) == (Hold.WAITING, 1)
        second = Running(partial(complete, other))
        second.wait_until_blocked()  # after its own commit, where it looks at what was locked
        assert reload(other).status == Status.COMPLETED, "it did not wait while it held its own row"
    second.result()
    assert (reload(job).hold, reload(job).waits_for) == (Hold.NONE, 0)


def test_one_that_ends_while_another_comes_to_wait_for_it_is_seen():
    ref = claimed()
    with transaction.atomic():
        job = enqueue("test.noop", after=[ref.job_id]).job_id
        ending = Running(partial(complete, ref))
        ending.wait_until_blocked()
    ending.result()
    assert reload(job).hold == Hold.NONE


def test_who_comes_to_wait_for_one_that_is_about_to_end_sees_its_end():
    ref = claimed()
    with transaction.atomic():
        complete(ref)
        enqueueing = Running(partial(enqueue, "test.noop", after=[ref.job_id]))
        enqueueing.wait_until_blocked()
    assert reload(enqueueing.result().job_id).hold == Hold.NONE


def test_a_child_that_ends_while_its_parent_lies_down_to_wait_wakes_it():
    parent = claimed()
    [child] = spawn(parent, [Spawn("test.noop", {}, "a", {"queue": "q"})])
    ref = claimed(make_worker("w"), reload(child.id))
    with transaction.atomic():
        finish_one(Outcome.waiting(parent, None))
        ending = Running(partial(complete, ref))
        ending.wait_until_blocked()
    ending.result()
    assert (reload(parent).status, reload(parent).hold) == (Status.PENDING, Hold.NONE)


def test_a_retry_of_who_waits_meets_the_end_of_what_it_waits_for():
    parent = make_job(queue="a")
    job = make_job(after=[parent])
    cancel(job.pk)
    ref = claimed(job=parent)
    with transaction.atomic():
        retry(job.pk)
        assert reload(job).hold == Hold.WAITING
        ending = Running(partial(complete, ref))
        ending.wait_until_blocked()
    ending.result()
    assert reload(job).hold == Hold.NONE


def test_who_ends_does_not_wait_for_whom_an_operator_has_locked():
    """A bulk action locks by id: the elder, that waits, then its child. The child's end must not go the other way."""
    parent = claimed()
    [child] = spawn(parent, [Spawn("test.noop", {}, "a", {"queue": "q"})])
    finish_one(Outcome.waiting(parent, None))
    ref = claimed(make_worker("w"), reload(child.id))
    deadlocks = scalar("SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()")
    with transaction.atomic():
        set_priority(parent.job_id, 5)
        ending = Running(partial(complete, ref))
        ending.wait_until_blocked()
        set_priority(ref.job_id, 5)  # not pending any more; but its row can be locked
    ending.result()
    assert reload(parent).hold == Hold.NONE
    assert scalar("SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()") == deadlocks


def work(worker: Worker, seed: int) -> None:
    dice = random.Random(seed)
    for _ in range(400):
        claims = [job.claim for job in claim(worker, limit=dice.randint(1, 4))]
        if not claims and not Job.objects.filter(status__in=[Status.PENDING, Status.RUNNING]).exists():
            return
        finish([dice.choice([Outcome.completed] * 3 + [partial(Outcome.failed, error="x")])(ref) for ref in claims])
        if dice.random() < 0.2 and (waiting := Job.objects.waiting().order_by("?").first()):
            cancel(waiting.pk) if dice.random() < 0.5 else set_priority(waiting.pk, 1)


def test_a_storm_leaves_nobody_waiting():
    dice, jobs = random.Random(3), [make_job(max_attempts=1).pk for _ in range(5)]
    for _ in range(12):
        layer = [
            NewJob(
                "test.noop",
                after=dice.sample(jobs, dice.randint(1, 4)),
                on_parent_failure=dice.choice(["cancel", "fail", "run"]),
                max_attempts=1,
            )
            for _ in range(6)
        ]
        jobs += enqueue_many(layer).created
    deadlocks = scalar("SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()")
    together([partial(work, make_worker(f"w{number}", slots=9), number) for number in range(5)])
    left = Job.objects.filter(status__in=[Status.PENDING, Status.RUNNING]).values_list("pk", "status", "hold")
    assert list(left) == []
    assert kept_counts() == real_counts()
    assert scalar("SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()") == deadlocks
