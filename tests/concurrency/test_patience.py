"""Transactions that merely collided are tried again, unseen by the caller; others are not."""

import threading
from functools import partial

import pytest
from django.db import DataError, OperationalError, connection, transaction

from jobs.db import TRIES, transactional, with_patience
from jobs.lifecycle.cancel import cancel
from jobs.lifecycle.claim import claim
from jobs.lifecycle.enqueue import enqueue
from jobs.lifecycle.enqueue_many import BATCH, enqueue_many
from jobs.lifecycle.finish import complete
from jobs.lifecycle.heartbeat import heartbeat
from jobs.lifecycle.new_job import NewJob
from jobs.models import Job, JobEvent
from jobs.states import EventName, Status
from tests.concurrency.threads import TIMEOUT, Running, together, wait_until
from tests.factories import claimed, make_job, make_worker, reload

pytestmark = pytest.mark.django_db(transaction=True)


def set_step(job_id, step):
    Job.objects.filter(pk=job_id).update(step=step)


@pytest.mark.postgres
def test_a_deadlock_is_tried_again():
    first, second = make_job().pk, make_job().pk
    both_hold_one = threading.Barrier(2)
    tries = []

    @transactional
    def write_both(jobs):
        tries.append(jobs)
        set_step(jobs[0], "written")
        if len(tries) <= 2:
            both_hold_one.wait(TIMEOUT)
        set_step(jobs[1], "written")

    together([lambda: write_both([first, second]), lambda: write_both([second, first])])
    assert len(tries) == 3, "one of the two fails, and is tried once more"
    assert Job.objects.filter(step="written").count() == 2


@pytest.mark.postgres
def test_a_serialization_failure_is_tried_again():
    job_id = make_job().pk
    looked, changed = threading.Event(), threading.Event()
    seen = []

    @transactional
    def look_then_write():
        with connection.cursor() as cursor:
            cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        seen.append(reload(job_id).step)
        looked.set()
        assert changed.wait(TIMEOUT)
        set_step(job_id, seen[-1] + "!")

    writing = Running(look_then_write)
    assert looked.wait(TIMEOUT)
    set_step(job_id, "changed")
    changed.set()
    writing.result()
    assert seen == ["", "changed"]
    assert reload(job_id).step == "changed!"


@pytest.mark.postgres
def test_a_cancel_that_cannot_get_its_row_for_a_while_gets_it_later():
    ref = claimed()

    def cancel_impatiently():
        with connection.cursor() as cursor:
            cursor.execute("SET lock_timeout = '50ms'")
        cancel(ref.job_id)

    with transaction.atomic():
        set_step(ref.job_id, "held")
        writing = Running(cancel_impatiently)
        writing.wait_until_blocked()
        wait_until(lambda: not writing.is_blocked())  # it gave up; the next try comes by itself
    writing.result()
    assert reload(ref).cancel_requested_at


def test_an_error_that_is_no_collision_is_raised_at_once():
    tries = []

    @transactional
    def fail():
        tries.append(1)
        raise DataError("wrong, and wrong the next time, too")

    with pytest.raises(DataError):
        fail()
    assert len(tries) == 1


def test_patience_ends():
    tries = []

    def collide():
        tries.append(1)
        raise OperationalError("database is locked")

    with pytest.raises(OperationalError):
        with_patience(collide)
    assert len(tries) == TRIES


def test_within_a_transaction_of_the_caller_nothing_is_tried_again():
    tries = []

    @transactional
    def collide():
        tries.append(1)
        raise OperationalError("database is locked")

    with pytest.raises(OperationalError), transaction.atomic():
        collide()
    assert len(tries) == 1


@pytest.mark.sqlite
def test_a_locked_database_is_tried_again():
    ref = claimed()
    collided = threading.Event()

    def complete_impatiently():
        with connection.cursor() as cursor:
            cursor.execute("PRAGMA busy_timeout = 1")
        return with_patience(complete_once)

    def complete_once():
        try:
            with transaction.atomic():
                return complete(ref)
        except OperationalError:
            collided.set()
            raise

    with transaction.atomic():
        set_step(ref.job_id, "held")
        completing = Running(complete_impatiently)
        assert collided.wait(TIMEOUT)
    assert completing.result().status == Status.COMPLETED


def test_several_threads_enqueue_claim_beat_and_finish_without_an_error():
    def work(number):
        worker = make_worker(f"w{number}")
        for _ in range(5):
            enqueue("test.noop")
            for job in claim(worker):
                heartbeat(worker.pk, [job.claim])
                complete(job.claim)

    together([lambda number=number: work(number) for number in range(5)])  # type: ignore[misc]  # bound per loop
    finisher = make_worker("last")
    for job in claim(finisher, limit=25):
        complete(job.claim)
    assert Job.objects.filter(status=Status.COMPLETED, attempt=1).count() == 25
    assert JobEvent.objects.filter(name=EventName.CLAIMED).count() == 25


def crossed(keys):
    """Two transactions, each of which has the key that the other one wants next."""
    both_hold_one = threading.Barrier(2)
    waited = threading.local()

    def jobs(one, other):
        yield from [NewJob("test.noop", dedupe_key=one)] + [NewJob("test.noop")] * (BATCH - 1)
        yield from [NewJob("test.noop"), NewJob("test.noop", dedupe_key=other)]

    class Crossing(list):
        def __iter__(self):
            for number, new in enumerate(super().__iter__()):
                if number == BATCH + 1 and not hasattr(waited, "once"):  # the first batch is written
                    waited.once = True
                    both_hold_one.wait(TIMEOUT)
                yield new

    one, other = keys
    return Crossing(jobs(one, other)), Crossing(jobs(other, one))


@pytest.mark.postgres
def test_many_enqueues_that_block_each_other_are_tried_again():
    first, second = crossed(["a", "b"])
    results = together([partial(enqueue_many, first), partial(enqueue_many, second)])
    assert sorted(len(result.met) for result in results) == [0, 2]
    assert Job.objects.count() == 2 * BATCH + 2


@pytest.mark.postgres
def test_a_long_generator_cannot_be_read_again_and_its_caller_is_told():
    first, second = crossed(["a", "b"])
    threads = [Running(partial(enqueue_many, iter(jobs))) for jobs in (first, second)]
    for running in threads:
        running.thread.join(TIMEOUT)
    assert [type(running.error) for running in threads].count(OperationalError) == 1
    assert Job.objects.count() == BATCH + 2
