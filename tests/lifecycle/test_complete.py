"""Completing by one statement: what ends as most jobs do, and nothing else; with the same traces as any other end."""

from collections import Counter
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from jobs.durations import BOUNDS, class_of
from jobs.handlers.base import Outcome
from jobs.lifecycle import finish as finishing
from jobs.lifecycle.complete import complete_alike
from jobs.lifecycle.enqueue import enqueue
from jobs.lifecycle.finish import finish
from jobs.lifecycle.set_limit import Rules, set_limit
from jobs.lifecycle.sql.tallying import class_of_age
from jobs.models import Job, JobEvent, QueueDelta, Worker
from jobs.states import EventName, LimitTarget, Status
from tests.factories import age, claimed, make_job, make_worker, noted_deltas, reload
from tests.in_full import sent_in_full

pytestmark = pytest.mark.postgres
OWN_TO_EACH = ("id", "job_id", "claim_id", "worker_id", "last_worker_id", "at", "seconds", "duration_class")


def alike(rows) -> list[dict[str, object]]:
    """Rows without what differs from job to job, and without times."""
    return [
        {
            name: value
            for name, value in row.items()
            if name not in OWN_TO_EACH and not name.endswith("_at") and name != "run_after"
        }
        for row in rows
    ]


def traces(outcomes_of, monkeypatch, *, by_one_statement: bool) -> tuple[Any, ...]:
    """What is left of three jobs of a worker of two slots, two of which end."""
    for model in (JobEvent, QueueDelta, Job):
        model.objects.all().delete()
    if not by_one_statement:
        monkeypatch.setattr(finishing, "complete_alike", lambda outcomes: {})
    worker = make_worker("w", slots=2)
    first, second, _ = (claimed(worker, make_job(queue=queue)) for queue in ("a", "b", "a"))
    answers = finish(outcomes_of(first, second))
    return (
        [(answer.status, answer.refused, answer.repeated, answer.reason) for answer in answers],
        alike(Job.objects.order_by("id").values()),
        alike(JobEvent.objects.exclude(job_id=None).order_by("job_id", "id").values()),
        noted_deltas(),
        Worker.objects.get(pk=worker.pk).status,
    )


@pytest.mark.parametrize("result", [None, {"pages": 3}, 'text with a \\ and a " in it', 0])
def test_it_leaves_the_same_traces_as_any_other_end(result, monkeypatch):
    def outcomes(first, second):
        return [Outcome.completed(first, result), Outcome.completed(second)]

    quick = traces(outcomes, monkeypatch, by_one_statement=True)
    assert quick == traces(outcomes, monkeypatch, by_one_statement=False)
    assert Counter(status for status, *_ in quick[0]) == {Status.COMPLETED: 2}


def test_durations_are_classed_as_elsewhere():
    ages = [0.0, *BOUNDS, *(bound * 1.01 for bound in BOUNDS), 1e9]
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {class_of_age()} FROM unnest(%s::float8[]) AS age", [ages])
        assert [row[0] for row in cursor.fetchall()] == [class_of(age) for age in ages]


def is_completed_alike(ref) -> bool:
    return ref in complete_alike([Outcome.completed(ref)])


def test_what_there_is_more_to_is_left_as_it_was(kind):
    kind.on_complete = lambda job, result: None
    hooked = claimed(job=make_job(kind.name))
    told = claimed(job=make_job(webhook_url="https://example.org/hook"))
    awaited = claimed(job=make_job())
    enqueue("test.noop", after=[awaited.job_id], allow_unknown=True)
    set_limit(LimitTarget.QUEUE, "narrow", Rules(max_running=5))
    limited = claimed(job=make_job(queue="narrow"))
    uncharged = claimed(start=False)  # that it ran is yet to be written
    more = (hooked, told, awaited, limited, uncharged)
    assert [is_completed_alike(ref) for ref in (*more, claimed())] == [False] * len(more) + [True]
    assert {reload(ref).status for ref in more} == {Status.RUNNING}


def test_the_fence_holds():
    expired, taken = claimed(), claimed()
    Job.objects.filter(pk=taken.job_id).update(claim_id=make_worker().pk)
    age(10_000)
    assert not is_completed_alike(expired)
    assert not is_completed_alike(taken)
    assert not JobEvent.objects.filter(name=EventName.COMPLETED).exists()


def test_of_a_claim_the_first_word_counts():
    ref = claimed(job=make_job(max_attempts=1))
    answers = finish([Outcome.failed(ref, "broken"), Outcome.completed(ref)])
    assert [answer.status for answer in answers] == [Status.FAILED] * 2


def test_where_some_of_a_call_are_no_longer_held_the_others_are_completed():
    worker = make_worker(slots=3)
    refs = [claimed(worker) for _ in range(3)]
    finish([Outcome.released(refs[1], "it was asked to")])
    answers = complete_alike([Outcome.completed(ref) for ref in refs])
    assert set(answers) == {refs[0], refs[2]}


@pytest.mark.parametrize(("first", "second", "failed", "locks"), [
    ((0, 1), (2, 3), (), False),
    ((2, 3), (0, 1), (), False),
    ((0, 2), (1, 3), (), True),
    ((0, 1), (3,), (2,), True),
])  # fmt: skip
def test_rows_are_locked_in_the_order_of_their_ids(first, second, failed, locks):
    """Else a verb that wants some of them, too, could wait for us while we wait for it."""
    worker = make_worker(slots=4)
    made = [claimed(worker) for _ in range(4)]
    refs = {place: made[place] for place in (*first, *second, *failed)}
    calls = {place: refs[group[0]].claim_id for group in (first, second) for place in group}
    for place, claim_id in calls.items():  # as if they had been claimed by two calls
        Job.objects.filter(pk=refs[place].job_id).update(claim_id=claim_id)
        refs[place] = refs[place]._replace(claim_id=claim_id)
    outcomes = [
        Outcome.failed(ref, "broken") if place in failed else Outcome.completed(ref) for place, ref in refs.items()
    ]
    with sent_in_full(), CaptureQueriesContext(connection) as captured:
        complete_alike(outcomes)
    sent = "".join(query["sql"] for query in captured.captured_queries)
    assert ("FOR NO KEY UPDATE" in sent) is locks
    assert {reload(refs[place]).status for place in calls} == {Status.COMPLETED}
