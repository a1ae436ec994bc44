"""Enqueue many: all or none, from a generator, in few statements."""

from collections.abc import Iterator

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from jobs.exceptions import InvalidInput
from jobs.lifecycle.enqueue import BATCH, enqueue_many
from jobs.lifecycle.new_job import NewJob
from jobs.models import Job, JobEvent
from jobs.states import Status
from tests.factories import job_in, make_job


def numbered(count: int) -> Iterator[NewJob]:
    return (NewJob("test.noop", {"n": n}) for n in range(count))


def test_jobs_are_created_in_the_order_given():
    created = enqueue_many(numbered(BATCH + 3)).created
    numbers = dict(Job.objects.values_list("pk", "payload__n"))
    assert [numbers[job_id] for job_id in created] == list(range(BATCH + 3))
    assert list(created) == sorted(created)
    assert JobEvent.objects.filter(name="enqueued").count() == BATCH + 3


def test_a_generator_is_read_no_further_than_a_batch_ahead():
    stored_when_asked = []

    def watched() -> Iterator[NewJob]:
        for new in numbered(2 * BATCH + 1):
            stored_when_asked.append(Job.objects.count() if new.payload["n"] % BATCH == 0 else None)
            yield new

    enqueue_many(watched())
    assert stored_when_asked[::BATCH] == [0, BATCH, 2 * BATCH]


def test_five_thousand_jobs_take_few_statements():
    with CaptureQueriesContext(connection) as statements:
        enqueue_many(numbered(5_000))
    assert len(statements) < 40


def test_one_bad_job_keeps_all_of_them_out():
    def with_a_bad_end() -> Iterator[NewJob]:
        yield from numbered(BATCH + 1)
        yield NewJob("test.noop", priority=1000)

    with pytest.raises(InvalidInput, match="priority 1000"):
        enqueue_many(with_a_bad_end())
    assert not Job.objects.exists()
    assert not JobEvent.objects.exists()


def test_nothing_to_do_is_no_error():
    result = enqueue_many([])
    assert (len(result.created), len(result.met)) == (0, 0)


def test_duplicates_are_met_inside_and_outside_the_batch():
    there = make_job(dedupe_key="there")
    result = enqueue_many(
        [
            NewJob("test.noop", {"place": 0}, dedupe_key="twice"),
            NewJob("test.noop", {"place": 1}),
            NewJob("test.noop", {"place": 2}, dedupe_key="there"),
            NewJob("test.noop", {"place": 3}, dedupe_key="twice"),
            NewJob("test.noop", {"place": 4}, dedupe_key="twice", queue="other"),
            NewJob("test.noop", {"place": 5}),
        ]
    )
    places = dict(Job.objects.values_list("pk", "payload__place"))
    assert [places[job_id] for job_id in result.created] == [0, 1, 4, 5]
    assert list(result.met) == [there.pk, result.created[0]]


def test_force_takes_keys_over_from_ended_jobs():
    job_in(Status.COMPLETED, unique="ever", dedupe_key="k")
    assert len(enqueue_many([NewJob("test.noop", dedupe_key="k", unique="ever")]).met) == 1
    assert len(enqueue_many([NewJob("test.noop", dedupe_key="k", unique="ever", force=True)]).created) == 1
