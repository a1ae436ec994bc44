"""Events by id: none is missed, in whatever order their transactions commit."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from django.db import connection, transaction

from jobs.lifecycle.enqueue import enqueue
from jobs.selectors.changes import MOST_GAPS, Line, Moment, begin, changed_after, look
from tests.concurrency.threads import wait_until
from tests.factories import make_job


def test_a_position_is_safe_once_every_transaction_that_was_running_has_ended():
    line = Line(0)
    line.note(Moment(newest=10, oldest_running=100, next_transaction=103))
    assert line.safe is None
    line.note(Moment(newest=20, oldest_running=102, next_transaction=105))
    assert line.safe is None
    line.note(Moment(newest=30, oldest_running=104, next_transaction=108))
    assert line.safe == 10
    line.note(Moment(newest=30, oldest_running=108, next_transaction=108))
    assert line.safe == 30


def test_ids_that_were_jumped_over_are_looked_for_until_they_cannot_come_any_more():
    line = Line(10)
    line.read([11, 14, 15, 19], whole=True)
    assert (line.newest, line.gaps) == (19, [(12, 13), (16, 18)])
    line.read([13, 17, 20], whole=True)
    assert (line.newest, line.gaps) == (20, [(12, 12), (16, 16), (18, 18)])
    line.note(Moment(16))
    line.note(Moment(20, 1, 2))
    assert (line.safe, line.gaps) == (16, [(18, 18)])


def test_a_long_transaction_makes_nothing_grow():
    line = Line(0)
    for number in range(1, 2_000):
        line.read([2 * number], whole=True)
        line.note(Moment(2 * number, oldest_running=1, next_transaction=number + 5))
    assert len(line.gaps) <= MOST_GAPS
    assert line.gaps[0][0] == 1
    assert len(line._waiting) <= MOST_GAPS + 1
    line.note(Moment(3_998, oldest_running=10_000, next_transaction=10_000))
    assert (line.safe, line.gaps) == (3_998, [])


@pytest.mark.django_db(transaction=True)
def test_what_is_new_is_seen_once():
    make_job()
    line = begin()
    assert look(line).events == []
    job = make_job()
    (event,) = look(line).events
    assert (event.job_id, event.name, event.queue) == (job.pk, "enqueued", job.queue)
    assert look(line).events == []
    assert line.newest == event.id
    settle(line)


def settle(line: Line) -> None:
    """The server is shared: transactions of other tests that run now keep a position from being safe."""
    wait_until(lambda: look(line).events == [] and line.safe == line.newest)


@contextmanager
def open_transaction() -> Iterator[list[int]]:
    """Another session enqueues a job and commits when the block is left; gives the job's id."""
    enqueued, may_commit, ids = threading.Event(), threading.Event(), list[int]()

    def run() -> None:
        try:
            with transaction.atomic():
                ids.append(enqueue("test.noop").job_id)
                enqueued.set()
                assert may_commit.wait(20)
        finally:
            connection.close()

    thread = threading.Thread(target=run)
    thread.start()
    try:
        assert enqueued.wait(20)
        yield ids
    finally:
        may_commit.set()
        thread.join()


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_an_event_that_commits_after_a_later_one_is_seen_and_was_never_passed_over():
    line = begin()
    settle(line)
    before = line.safe
    with open_transaction() as slow:
        quick = make_job()
        assert [event.job_id for event in look(line).events] == [quick.pk]
        look(line)
        assert line.safe == before  # whoever came back at the newest id would miss the one that is not there yet
    assert [event.job_id for event in look(line).events] == slow
    settle(line)
    assert before is not None
    missed = changed_after(before)
    assert missed
    assert {event.job_id for event in missed.events} == {quick.pk, *slow}
