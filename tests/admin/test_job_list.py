"""The list of jobs: what it shows, how it is filtered and searched, and that it stays cheap."""

import re
from datetime import timedelta

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from jobs.admin import job_list
from jobs.handlers.base import Outcome, Report
from jobs.lifecycle.finish import fail, finish_one
from jobs.lifecycle.report import report
from jobs.models import Job
from jobs.selectors.clock import database_now
from jobs.states import TERMINAL, ShownState
from tests.admin.visits import page
from tests.factories import age, claimed, completed_at_second_try, job_in, make_job, make_worker

pytestmark = pytest.mark.django_db
LIST = "admin:jobs_job_changelist"


def listed(client: Client, **query: object) -> list[int]:
    """The ids of the jobs that the page shows, in its order."""
    return [int(pk) for pk in re.findall(r'name="_selected_action" value="(\d+)"', page(client, LIST, **query))]


def test_a_completed_job_has_no_error_in_its_row(operator: Client):
    completed_at_second_try()
    assert "broken once" not in page(operator, LIST)


def test_a_row_tells_what_matters(operator: Client):
    ref = claimed(make_worker("media-1"), subject="A film", kind="test.noop", queue="media", max_attempts=5)
    report(Report(ref, 42, "encoding"))
    broken = claimed(make_worker("mail-1"), queue="mail")
    finish_one(Outcome.failed(broken, "no space\nsecond line", fatal=True))
    content = page(operator, LIST)
    for text in (
        "A film",
        "test.noop",
        "media",
        "jy-claimed",
        'value="42"',
        "encoding",
        "1 of 5",
        "media-1",
        "runs 0s",
    ):
        assert text in content
    assert "no space" in content
    assert "second line" not in content
    assert "jy-failed" in content


@pytest.fixture
def one_of_each() -> dict[str, int]:
    """A job in each state that people are shown."""
    stalled, expired = claimed(make_worker("a"), queue="a"), claimed(make_worker("b"), queue="b")
    age(3600)
    Job.objects.filter(pk=stalled.job_id).update(lease_expires_at=database_now() + timedelta(hours=1))
    retrying = claimed(make_worker("c"), queue="c")
    fail(retrying, "broken", retry_after=600)
    jobs: dict[str, int] = {
        "stalled": stalled.job_id,
        "expired": expired.job_id,
        "retrying": retrying.job_id,
        "claimed": claimed(make_worker("d"), queue="d").job_id,
        "unclaimed": make_job().pk,
        "scheduled": make_job(run_after=database_now() + timedelta(hours=1)).pk,
        **{str(status): job_in(status, queue=status).pk for status in TERMINAL},
    }
    assert set(jobs) == set(ShownState)
    return jobs


def test_each_state_has_its_filter(operator: Client, one_of_each):
    assert listed(operator) == sorted(one_of_each.values(), reverse=True)
    for state, job_id in one_of_each.items():
        assert listed(operator, state=state) == [job_id], state
    assert set(listed(operator, state="pending")) == {one_of_each[s] for s in ("unclaimed", "scheduled", "retrying")}
    assert set(listed(operator, state="running")) == {one_of_each[s] for s in ("claimed", "expired", "stalled")}


def test_jobs_are_filtered_by_queue_kind_scope_worker_and_time(operator: Client):
    worker = make_worker("mine")
    old = claimed(worker, queue="q", scope="s").job_id
    age(7200)
    new = make_job(queue="r").pk
    assert listed(operator, queue="q") == listed(operator, scope="s") == listed(operator, worker=worker.pk) == [old]
    assert listed(operator, kind="test.noop") == [new, old]
    assert listed(operator, kind="no.such.kind") == []
    assert (listed(operator, time="1h"), listed(operator, time="over1h")) == ([new], [old])


def test_kinds_without_a_handler_here_are_offered_where_they_are_seen(operator: Client):
    make_job("elsewhere.only", allow_unknown=True)
    assert '<option value="elsewhere.only">' in page(operator, LIST)
    assert '<option value="elsewhere.only" selected>' in page(operator, LIST, kind="elsewhere.only", state="failed")


def test_jobs_are_searched_by_id_subject_key_and_error(operator: Client):
    subject, key = make_job(subject="A film").pk, make_job(dedupe_key="film-7").pk
    broken = claimed(queue="q")
    finish_one(Outcome.failed(broken, "the film is torn", fatal=True))
    make_job(subject="another")
    assert listed(operator, q="film") == [broken.job_id, key, subject]
    assert listed(operator, q=str(key)) == [key]


@pytest.mark.parametrize("query", [{"queue": "a b"}, {"state": "odd"}, {"worker": "x"}, {"time": "never"}, {"q": "\0"}])
def test_a_filter_that_cannot_be_says_so(operator: Client, query):
    make_job()
    content = page(operator, LIST, **query)
    assert "errornote" in content
    assert "_selected_action" not in content


def test_pages_lead_to_older_and_newer_jobs(operator: Client, monkeypatch):
    monkeypatch.setattr(job_list, "PAGE", 2)
    ids = [make_job(queue="q").pk for _ in range(3)][::-1]
    content = page(operator, LIST, queue="q")
    assert f"?queue=q&amp;before={ids[1]}" in content
    assert listed(operator, queue="q", before=ids[1]) == ids[2:]
    assert f"?queue=q&amp;after={ids[2]}" in page(operator, LIST, queue="q", before=ids[1])
    assert listed(operator, queue="q", after=ids[2]) == ids[:2]
    assert listed(operator, before="x", after="²") == ids[:2]


@pytest.mark.parametrize("query", [{}, {"state": "failed"}, {"state": "stalled", "queue": "q"}, {"q": "film"}])
def test_the_list_takes_as_many_statements_for_fifty_jobs_as_for_one(operator: Client, query):
    worker = make_worker(slots=60)
    claimed(worker)
    few = statements(operator, query)
    for number in range(50):
        claimed(worker, queue=f"q{number}", subject="film")
    many = statements(operator, query)
    assert len(few) == len(many) <= 6  # session, user, counters, jobs, workers, clock
    assert not [sql for sql in many if "COUNT(" in sql.upper() or "OFFSET" in sql.upper()]
    assert not [sql for sql in many if '"payload"' in sql or '"last_traceback"' in sql]


def statements(client: Client, query: dict[str, str]) -> list[str]:
    with CaptureQueriesContext(connection) as captured:
        client.get(reverse(LIST), query)
    return [each["sql"] for each in captured.captured_queries]


def test_an_empty_list_says_so(operator: Client):
    assert "No job has been enqueued yet." in page(operator, LIST)
    assert "No job matches." in page(operator, LIST, state="failed")
