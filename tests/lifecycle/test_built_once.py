"""Statements that are built once: every call puts its own values in, and only a new shape is built anew."""

from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.db import connection, models
from django.db.models.sql import Query
from django.test.utils import CaptureQueriesContext

from jobs.db import Now
from jobs.given import Among, Given, GivenList
from jobs.handlers.base import Outcome
from jobs.lifecycle import transition
from jobs.lifecycle.claim import claim
from jobs.lifecycle.fence import held_jobs, verify
from jobs.lifecycle.finish import fail, finish
from jobs.lifecycle.heartbeat import renew
from jobs.lifecycle.sql.built_once import LIMIT, Statement, built_once, insert_from, select, update
from jobs.models import Job, JobEvent
from jobs.states import Status
from tests.factories import claimed, job_in, make_job, make_worker, reload

BUILT: list[bool] = []


@built_once
def jobs_in(newest_first: bool) -> Statement:
    BUILT.append(newest_first)
    rows = Job.objects.filter(queue=Given("queue")).order_by("-id" if newest_first else "id")
    return select(rows.values_list("id", "payload", "lease", "run_after")[:LIMIT])


def test_each_call_has_its_own_values_and_each_shape_is_built_once():
    a, b, c = make_job(queue="a"), make_job(queue="a"), make_job(queue="b")
    BUILT.clear()
    found = [
        [row[0] for row in jobs_in(newest_first).rows(queue=queue, limit=limit)]
        for newest_first, queue, limit in [(False, "a", 9), (True, "a", 9), (False, "a", 1), (True, "b", 9)]
    ]
    assert found == [[a.pk, b.pk], [b.pk, a.pk], [a.pk], [c.pk]]
    assert len(BUILT) <= 2


def test_rows_have_the_values_that_the_models_have():
    job = make_job(payload={"a": [1, "é"]})
    [row] = jobs_in(False).rows(queue="default", limit=1)
    assert row == [job.pk, {"a": [1, "é"]}, job.lease, job.run_after]


def test_a_value_that_is_missing_is_an_error_and_runs_nothing():
    with pytest.raises(KeyError, match="limit"), CaptureQueriesContext(connection) as sent:
        jobs_in(False).rows(queue="a")
    assert not sent.captured_queries


def test_update_tells_how_many_rows_it_wrote():
    given = {
        "lease": Given("lease", models.DurationField()),
        "run_after": Now() + Given("lease", models.DurationField()),
    }
    statement = update(Job.objects.filter(Among("pk", GivenList("ids"))), given)
    jobs = [make_job(), make_job(), make_job()]
    assert statement.run(ids=[jobs[0].pk, jobs[2].pk, 0], lease=timedelta(minutes=7)) == 2
    assert [reload(job).lease == timedelta(minutes=7) for job in jobs] == [True, False, True]


def test_insert_makes_a_row_for_each():
    jobs = [make_job(), make_job()]
    values = {"name": Given("name"), "job_id": models.F("pk"), "reason": Given("reason")}
    values |= {"queue": models.F("queue"), "worker_name": models.Value(""), "outcome": models.Value("")}
    assert insert_from(JobEvent, Job.objects.all(), values).run(name="stale", reason="it's 100 % “old”") == 2
    noted = JobEvent.objects.filter(name="stale").order_by("id").values_list("job_id", "reason")
    assert list(noted) == [(job.pk, "it's 100 % “old”") for job in jobs]


@pytest.mark.parametrize("column", ["claim_id", "worker_id", "status", "pk"])
def test_among_finds_what_in_finds(column):
    for status in Status:
        job_in(status, queue=status)
    known = list(Job.objects.exclude(**{column: None}).values_list(column, flat=True))
    for some in (known[:1], known, []):
        expected = set(Job.objects.filter(**{f"{column}__in": some}).values_list("pk", flat=True))
        given = select(Job.objects.filter(Among(column, GivenList("some"))).values_list("pk"))
        assert {pk for (pk,) in given.rows(some=some)} == expected
        assert set(Job.objects.filter(Among(column, some)).values_list("pk", flat=True)) == expected


def test_the_fence_locks_what_held_by_says():
    """The statement is made of it, so this can fail only if someone writes the condition a second time."""
    worker = make_worker(slots=9)
    held, over, done = (claimed(worker) for _ in range(3))
    Job.objects.filter(pk=over.job_id).update(lease_expires_at=Now() - timedelta(seconds=1))
    finish([Outcome.completed(done)])
    job_ids, claim_ids = [held.job_id, over.job_id, done.job_id], [held.claim_id, over.claim_id, done.claim_id]
    for claims in (claim_ids, claim_ids[:1], [uuid4()], [over.claim_id]):
        locked = {row[0] for row in held_jobs().rows(job_ids=job_ids, claim_ids=claims)}
        assert locked == set(Job.objects.held_by(job_ids, claims).values_list("pk", flat=True))
    verify(held)


def test_a_wait_is_a_value_and_no_shape(monkeypatch: pytest.MonkeyPatch):
    """Each retry waits for another time: a statement built for each would fill the memory."""
    fail(claimed(), "broken", retry_after=0.5)
    built: list[Any] = []
    monkeypatch.setattr(transition, "update", lambda *of: built.append(of))
    for seconds in (1, 2.5, 300):
        ref = claimed(queue=f"q{seconds}")
        fail(ref, "broken", retry_after=seconds)
        job = reload(ref)
        assert timedelta(seconds=seconds) - timedelta(seconds=9) < job.run_after - job.enqueued_at
    assert not built


def test_claim_renewal_and_finish_ask_djangos_compiler_for_nothing_the_second_time(monkeypatch: pytest.MonkeyPatch):
    worker = make_worker(slots=9)

    def one_job() -> None:
        [job] = claim(worker, ["default"])
        renew(worker.pk, [job.claim])
        finish([Outcome.completed(job.claim, {"made": job.id})])

    make_job(), make_job()
    one_job()
    asked: list[Query] = []
    compile_it = Query.get_compiler

    def ask(query: Query, *args: Any, **kwargs: Any) -> Any:
        asked.append(query)
        return compile_it(query, *args, **kwargs)

    monkeypatch.setattr(Query, "get_compiler", ask)
    one_job()
    assert not asked
