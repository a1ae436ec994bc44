"""Enqueue many: all or none, from a generator, in few statements."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from jobs import handler, pipeline
from jobs.exceptions import InvalidInput
from jobs.handlers.registry import registry
from jobs.lifecycle.enqueue_many import BATCH, enqueue_many
from jobs.lifecycle.new_job import NewJob
from jobs.lifecycle.sql.insert_jobs import MANY
from jobs.models import Job, JobEvent
from jobs.selectors.changes import begin, look
from jobs.selectors.depth import queue_depths
from jobs.selectors.timeline import latest_events, timeline
from jobs.states import Status
from tests.factories import claimed, job_in, make_job, reload


def numbered(count: int) -> Iterator[NewJob]:
    return (NewJob("test.noop", {"n": n}) for n in range(count))


def test_jobs_are_created_in_the_order_given():
    created = enqueue_many(numbered(BATCH + 3)).created
    numbers = dict(Job.objects.values_list("pk", "payload__n"))
    assert [numbers[job_id] for job_id in created] == list(range(BATCH + 3))
    assert list(created) == sorted(created)


@pytest.mark.parametrize("number", [MANY - 1, MANY])
def test_each_of_them_has_a_history_that_begins_with_its_enqueue(number):
    created = enqueue_many(numbered(number)).created
    assert {tuple(event.name for event in timeline(reload(job_id))) for job_id in created} == {("enqueued",)}
    claimed(job=reload(created[0]))
    job = reload(created[0])
    enqueued, taken = timeline(job)
    assert (enqueued.job_id, enqueued.queue, taken.name) == (job.pk, job.queue, "claimed")
    assert (enqueued.at - job.enqueued_at).total_seconds() == pytest.approx(0, abs=1)
    assert [event.name for event in latest_events(job, 1)] == ["claimed"]
    assert [event.name for event in latest_events(job, 2)] == ["enqueued", "claimed"]


@pytest.mark.postgres
def test_of_a_hundred_that_are_alike_one_event_tells():
    enqueue_many(numbered(MANY))
    enqueue_many(NewJob("test.noop", priority=n % 2) for n in range(MANY))
    together = JobEvent.objects.get(job_id=None)
    assert (together.name, together.queue, together.reason) == ("enqueued", "default", f"{MANY} jobs")
    assert JobEvent.objects.exclude(job_id=None).count() == MANY  # each has terms of its own


@pytest.mark.django_db(transaction=True)
def test_who_reads_changes_hears_that_there_are_more_than_were_named():
    line = begin()
    enqueue_many(numbered(MANY - 1))
    seen = look(line)
    assert (len(seen.events), seen.left_out) == (MANY - 1, False)
    enqueue_many(numbered(MANY))
    seen = look(line)
    assert seen.left_out or len(seen.events) == MANY
    assert not look(line).left_out


def test_a_generator_is_read_no_further_than_a_batch_and_one_ahead():
    stored_when_asked = []

    def watched() -> Iterator[NewJob]:
        for new in numbered(2 * BATCH + 2):
            stored_when_asked.append(Job.objects.count() if new.payload["n"] % BATCH == 1 else None)
            yield new

    enqueue_many(watched())
    assert stored_when_asked[1::BATCH] == [0, BATCH, 2 * BATCH]


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("number", [1, BATCH])
def test_a_batch_of_plain_jobs_is_one_statement_and_so_a_transaction(number):
    with CaptureQueriesContext(connection) as statements:
        created = enqueue_many(numbered(number)).created
    assert len(statements) == 1
    assert Job.objects.filter(pk__in=created).count() == number


@pytest.fixture
def each() -> Iterator[Any]:
    @handler("test.each")
    def each(ctx, n):
        return n

    yield each
    registry.remove("test.each")


def test_a_function_enqueues_many_of_its_kind(each):
    result = each.using(queue="slow", priority=7).enqueue_many({"n": n} for n in range(3))
    assert (
        list(Job.objects.filter(pk__in=result.created).order_by("pk").values_list("kind", "queue", "priority"))
        == [("test.each", "slow", 7)] * 3
    )
    assert [reload(job_id).payload for job_id in result.created] == [{"n": 0}, {"n": 1}, {"n": 2}]
    assert queue_depths().queues["slow"].pending == 3


@pytest.mark.parametrize(
    ("arguments", "options", "problem"),
    [
        ([{"n": 1}, {}], {}, "missing a required argument: 'n'"),
        ([{"n": 1}, {"n": 1, "m": 2}], {}, "unexpected keyword argument 'm'"),
        ([{"n": 1}, ["n"]], {}, "must be a JSON object"),
        ([{"n": float("nan")}], {}, "is nan, which JSON does not have"),
        ([{"n": 1}], {"priority": 101}, "priority 101"),
        ([{"n": 1}], {"queue": "no such name"}, "queue name"),
    ],
)
def test_of_many_of_a_kind_one_that_is_wrong_keeps_all_out(each, arguments, options, problem):
    with pytest.raises(InvalidInput, match=problem):
        each.using(**options).enqueue_many(arguments)
    assert not Job.objects.exists()


@pytest.mark.parametrize("arguments", [None, 7, "n", {"n": 1}])
def test_what_is_no_list_of_arguments_is_refused_in_so_many_words(each, arguments):
    with pytest.raises(InvalidInput, match="a dictionary of arguments for each job"):
        each.enqueue_many(arguments)


def test_many_of_a_kind_may_each_have_a_key_of_their_payload(each):
    first = each.using(unique="active").enqueue_many([{"n": 1}, {"n": 2}, {"n": 1}])
    assert (len(first.created), list(first.met)) == (2, [first.created[0]])


def test_many_of_a_pipeline():
    book = pipeline("test.book")

    @book.phase("write")
    def write(ctx, title):
        return title

    try:
        [created] = book.enqueue_many([{"title": "Dune"}]).created
    finally:
        registry.remove("test.book")
    assert reload(created).payload == {"title": "Dune"}


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
