"""Limits under races: never more than allowed at any committed moment, and nobody is forgotten."""

import random
import threading
import time
from collections import Counter
from functools import partial

import pytest
from django.db import connection, transaction

from jobs.handlers.base import ClaimRef, Outcome
from jobs.lifecycle.cancel import cancel
from jobs.lifecycle.claim import claim
from jobs.lifecycle.enqueue_many import enqueue_many
from jobs.lifecycle.finish import complete, finish
from jobs.lifecycle.new_job import NewJob
from jobs.lifecycle.prioritise import set_priority
from jobs.lifecycle.set_limit import Rules, set_limit
from jobs.models import Job, Worker
from jobs.states import Hold, Status
from tests.concurrency.threads import Running, rolled_back, scalar, together
from tests.factories import kept_counts, make_job, make_worker, real_counts, reload
from tests.patience import PATIENCE

pytestmark = [pytest.mark.postgres, pytest.mark.django_db(transaction=True)]

JOBS, THREADS = 40, 4
QUEUES, KINDS, KEYS = ("a", "b"), ("test.noop", "other.kind"), ("x-1", "x-2", "x-3", "")
ALLOWED = {
    ("queue", "a"): 3,
    ("kind", "test.noop"): 4,
    ("limit_key", "x-1"): 1,
    ("limit_key", "x-2"): 2,
    ("limit_key", "x-3"): 2,
}


def over_the_limit(until: threading.Event) -> Counter[tuple[str, str]]:
    """Look again and again, at all limits by one statement, and return the most that ever ran of each."""
    most: Counter[tuple[str, str]] = Counter()
    while not until.wait(0.005):
        running: Counter[tuple[str, str]] = Counter()
        for queue, kind, key in Job.objects.running().values_list("queue", "kind", "limit_key"):
            running.update([("queue", queue), ("kind", kind), ("limit_key", key)])
        most |= running
    return most


def completed_or_not(dice: random.Random, ref: ClaimRef) -> Outcome:
    return Outcome.completed(ref) if dice.random() < 0.8 else Outcome.failed(ref, "x", retry_after=0)


def work(worker: Worker, seed: int) -> int:
    """Claim and finish until nothing is left; returns how many were finished."""
    dice, deadline, done = random.Random(seed), time.monotonic() + PATIENCE, 0
    while Job.objects.filter(status__in=[Status.PENDING, Status.RUNNING]).exists():
        assert time.monotonic() < deadline, (
            f"jobs are left behind: {list(Job.objects.values_list('status', 'held_by'))}"
        )
        claims = [job.claim for job in claim(worker, dice.sample(QUEUES, 2), limit=dice.randint(1, 5))]
        if waiting := list(Job.objects.held_back().values_list("pk", flat=True)[:2]):
            set_priority(waiting[0], dice.randint(-5, 5))
            if dice.random() < 0.1:
                cancel(waiting[-1])
        dice.shuffle(claims)
        while claims:
            some = [claims.pop() for _ in range(min(len(claims), dice.randint(1, 3)))]
            finish([completed_or_not(dice, each) for each in some])
            done += len(some)
    return done


def test_a_storm_never_breaks_a_limit_and_leaves_nobody_behind():
    for (target, name), number in ALLOWED.items():
        if target != "limit_key":
            set_limit(target, name, Rules(max_running=number))
    set_limit("key", "x-*", Rules(max_running=2))
    set_limit("key", "x-1", Rules(max_running=1))
    dice = random.Random(7)
    enqueue_many(
        NewJob(
            dice.choice(KINDS),
            queue=dice.choice(QUEUES),
            limit_key=dice.choice(KEYS),
            priority=dice.randint(-2, 2),
            allow_unknown=True,
        )
        for _ in range(JOBS)
    )
    deadlocks = scalar("SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()")
    over = threading.Event()
    observer = Running(partial(over_the_limit, over))
    try:
        together([partial(work, make_worker(f"w{number}", slots=9), number) for number in range(THREADS)])
    finally:
        over.set()
    most = observer.result()
    assert {name: most[name] for name in ALLOWED if most[name] > ALLOWED[name]} == {}
    assert all(most.values()), "the observer saw each of them run"
    assert set(Job.objects.values_list("status", flat=True)) <= {Status.COMPLETED, Status.FAILED, Status.CANCELLED}
    assert kept_counts() == real_counts()
    assert scalar("SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()") == deadlocks


@pytest.mark.parametrize(("target", "name"), [("queue", "default"), ("key", "a")])
def test_two_claimers_do_not_share_the_last_place(target, name):
    set_limit(target, name, Rules(max_running=1))
    make_job(limit_key="a"), make_job(limit_key="a")
    one, other = make_worker(), make_worker("other")
    with transaction.atomic():
        assert len(claim(one)) == 1
        second = Running(partial(claim, other))
        second.wait_until_blocked()
    assert second.result() == []
    assert Job.objects.running().count() == 1


def test_a_claim_that_looks_while_the_last_one_ends_takes_the_place():
    set_limit("key", "a", Rules(max_running=1))
    make_job(limit_key="a")
    next_one, other = make_job(limit_key="a"), make_worker("other")
    (held,) = claim(make_worker())
    with transaction.atomic():
        complete(held.claim)
        looking = Running(partial(claim, other))
        looking.wait_until_blocked()
    assert [job.id for job in looking.result()] == [next_one.pk]


def test_a_job_that_is_held_back_while_the_last_one_ends_is_let_go():
    set_limit("key", "a", Rules(max_running=1))
    make_job(limit_key="a")
    next_one, worker = make_job(limit_key="a"), make_worker()
    (held,) = claim(worker)
    with transaction.atomic():
        assert claim(make_worker("other")) == []
        assert reload(next_one).hold == Hold.LIMITED
        ending = Running(partial(complete, held.claim))
        ending.wait_until_blocked()
    ending.result()
    assert reload(next_one).hold == Hold.NONE


def test_a_claim_that_is_rolled_back_frees_its_place_and_its_holds():
    set_limit("key", "a", Rules(max_running=1))
    jobs = [make_job(limit_key="a") for _ in range(2)]
    worker = make_worker()
    with rolled_back():
        assert len(claim(worker, limit=5)) == 1
    assert [reload(job).held_by for job in jobs] == ["", ""]
    assert [job.id for job in claim(worker, limit=5)] == [jobs[0].pk]


def test_who_holds_one_limit_waits_for_no_other():
    """A claim over two queues that has the one limit, and another that has the other: neither waits in a circle."""
    set_limit("queue", "a", Rules(max_running=5))
    set_limit("queue", "b", Rules(max_running=5))
    for queue in "ab":
        make_job(queue=queue), make_job(queue=queue)
    worker, other = make_worker(slots=9), make_worker("other", slots=9)
    with transaction.atomic():
        assert [job.queue for job in claim(worker, ["b"])] == ["b"]
        crossing = Running(partial(claim, other, ["a", "b"], 4))
        assert [job.queue for job in crossing.result()] == ["a", "a"]
        assert [job.queue for job in claim(worker, ["a"])] == []
    assert [job.queue for job in claim(other, ["a", "b"], 4)] == ["b"]
    assert connection.is_usable()
