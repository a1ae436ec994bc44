"""Jobs that wait for others: when they go on, what becomes of them where one fails, and what heals a missed end."""

from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from jobs.exceptions import InvalidInput
from jobs.handlers.base import Outcome
from jobs.lifecycle.cancel import cancel
from jobs.lifecycle.claim import claim
from jobs.lifecycle.clear import clear
from jobs.lifecycle.enqueue import enqueue
from jobs.lifecycle.enqueue_many import enqueue_many
from jobs.lifecycle.move_to_queue import move_to_queue
from jobs.lifecycle.new_job import NewJob
from jobs.lifecycle.prioritise import set_priority
from jobs.lifecycle.reap import reap_once
from jobs.lifecycle.retry import requeue, retry
from jobs.lifecycle.run_now import run_now
from jobs.lifecycle.set_limit import Rules, set_limit
from jobs.models import Dependency, Job
from jobs.selectors.clock import database_now
from jobs.selectors.jobs import get_job
from jobs.states import Hold, ShownState, Status
from tests.factories import (
    age,
    end,
    events_of,
    job_in,
    kept_counts,
    make_job,
    make_worker,
    reload,
)

pytestmark = pytest.mark.django_db
BROKEN: dict[str, Any] = {"outcome": Outcome.failed, "error": "broken", "fatal": True}


def is_ready(job: Job) -> bool:
    row = reload(job)
    return row.status == Status.PENDING and row.hold == Hold.NONE


def test_it_runs_when_all_that_it_waits_for_completed():
    one, other = make_job(queue="a"), make_job(queue="b")
    job = make_job(after=[one, other.pk])
    assert (job.hold, job.waits_for) == (Hold.WAITING, 2)
    assert claim(make_worker(), ["default"], limit=9) == []
    end(one)
    assert (reload(job).hold, reload(job).waits_for) == (Hold.WAITING, 1)
    end(other)
    assert is_ready(job)
    assert reload(job).waits_for == 0
    end(job)
    assert events_of(job) == ["enqueued", "claimed", "completed"]


def test_it_takes_the_answer_of_enqueue_and_counts_each_once():
    first = enqueue("test.noop")
    job = reload(enqueue("test.noop", after=[first, first.job_id]).job_id)
    assert job.waits_for == 1
    assert Dependency.objects.count() == 1


@pytest.mark.parametrize("status", [Status.COMPLETED, Status.FAILED, Status.CANCELLED])
def test_it_may_wait_for_what_has_ended(status):
    ended = job_in(status)
    runs = {Status.COMPLETED: True}.get(status, False)
    assert is_ready(make_job(after=[ended])) == runs
    assert is_ready(make_job(after=[ended], on_parent_failure="run"))


@pytest.mark.parametrize(
    ("policy", "status", "hold"),
    [("cancel", Status.CANCELLED, ""), ("fail", Status.FAILED, ""), ("run", Status.PENDING, Hold.WAITING)],
)
@pytest.mark.parametrize("how", ["failed", "cancelled"])
def test_the_policy_says_what_follows_where_one_does_not_complete(policy, status, hold, how):
    bad, slow = make_job(), make_job(queue="slow")
    job = make_job(after=[bad, slow], on_parent_failure=policy)
    cancel(bad.pk) if how == "cancelled" else end(bad, **BROKEN)
    row = reload(job)
    assert (row.status, row.hold) == (status, hold)
    if policy == "run":
        end(slow)
        assert is_ready(job)
    else:
        assert f"job {bad.pk}, which it waited for, " in row.last_error
        assert events_of(job)[-1] == status


def test_it_is_cancelled_by_default():
    parent = make_job()
    job = make_job(after=[parent])
    end(parent, **BROKEN)
    assert reload(job).status == Status.CANCELLED


def test_a_chain_of_any_length_ends_with_its_first():
    jobs = [make_job()]
    for _ in range(60):
        jobs.append(Job(pk=enqueue("test.noop", after=[jobs[-1]], on_parent_failure="fail").job_id))
    end(jobs[0], **BROKEN)
    assert set(Job.objects.values_list("status", flat=True)) == {Status.FAILED}


def test_one_that_is_retried_is_not_over_for_who_waits():
    parent = make_job()
    job = make_job(after=[parent])
    end(parent, Outcome.failed, error="once more", retry_after=0)
    assert reload(job).hold == Hold.WAITING
    end(parent)
    assert is_ready(job)


def test_first_it_waits_then_for_its_time_then_for_its_limit():
    parent = make_job(queue="other")
    set_limit("key", "a", Rules(max_running=1))
    job = make_job(after=[parent], run_after=database_now().replace(year=2999), limit_key="a")
    assert (job.hold, run_now(job.pk).moved) == (Hold.WAITING, [])
    end(parent)
    assert reload(job).hold == Hold.SCHEDULED
    assert run_now(job.pk).moved == [job.pk]
    running = make_job(limit_key="a", priority=9)
    worker = make_worker(slots=9)
    assert [each.id for each in claim(worker, limit=1)] == [running.pk]
    assert claim(worker, limit=1) == []
    assert reload(job).hold == Hold.LIMITED


def test_it_stands_in_line_from_the_moment_it_is_let_go():
    parent = make_job()
    job, other = make_job(after=[parent]), make_job(queue="q")
    age(100)
    end(parent)
    assert reload(job).run_after > reload(other).run_after
    assert (database_now() - reload(job).run_after).total_seconds() < 50


def state_of(job: Any) -> str:
    found: Any = get_job(job.pk)
    return str(found.state)


def test_it_is_counted_and_shown_as_scheduled():
    parent = make_job()
    job = make_job(after=[parent])
    assert state_of(job) == ShownState.SCHEDULED
    assert kept_counts() == {("default", "pending"): 1, ("default", "scheduled"): 1}
    end(parent)
    assert state_of(job) == ShownState.UNCLAIMED
    assert kept_counts() == {("default", "pending"): 1, ("default", "completed"): 1}


def test_an_operator_may_change_and_cancel_what_waits():
    parent = make_job()
    job, other = make_job(after=[parent]), make_job(after=[parent])
    set_priority(job.pk, 5)
    move_to_queue(job.pk, "elsewhere")
    cancel(other.pk)
    assert reload(job).hold == Hold.WAITING
    end(parent)
    assert is_ready(job)
    assert reload(other).status == Status.CANCELLED


def test_who_is_retried_waits_again_for_what_has_not_ended():
    parent, done = make_job(), make_job(queue="done")
    job = make_job(after=[parent, done])
    end(done)
    end(parent, **BROKEN)
    assert reload(job).status == Status.CANCELLED
    assert set(retry([parent.pk, job.pk]).moved) == {parent.pk, job.pk}
    assert (reload(job).hold, reload(job).waits_for) == (Hold.WAITING, 1)
    end(parent)
    assert is_ready(job)


def test_a_retry_does_not_ask_again_how_the_others_ended():
    parent = make_job()
    job = make_job(after=[parent])
    end(parent, **BROKEN)
    requeue(job.pk)
    assert is_ready(job)


def test_who_waits_goes_on_waiting_for_one_that_runs_again():
    parent, slow = make_job(), make_job(queue="slow")
    job = make_job(after=[parent, slow])
    end(parent)
    requeue(parent.pk)
    end(slow)
    assert reload(job).hold == Hold.WAITING
    end(parent)
    assert is_ready(job)


def test_one_that_is_deleted_is_still_known_to_have_ended():
    parent, slow = make_job(), make_job(queue="slow")
    job = make_job(after=[parent, slow])
    end(parent)
    assert clear(parent.pk) == [parent.pk]
    end(slow)
    assert is_ready(job)
    end(job)
    clear(job.pk)
    assert not Dependency.objects.exists()


def test_the_reaper_finds_who_waits_for_nobody():
    """As after a crash between a commit and what was to follow it, or after other hands than ours."""
    ended, gone, parent = make_job(queue="a"), make_job(queue="b"), make_job(queue="c")
    jobs = {each.pk: make_job(after=[each]) for each in (ended, gone)}
    bad = make_job(after=[parent, make_job(queue="e")], on_parent_failure="fail")
    waits = make_job(after=[make_job(queue="d")])
    Job.objects.filter(pk__in=[ended.pk, gone.pk]).update(awaited=False)
    end(ended), end(gone)
    clear(gone.pk)
    assert not is_ready(jobs[ended.pk])
    Dependency.objects.filter(needs=parent).update(ended=Status.FAILED)
    reap_once()
    assert is_ready(jobs[ended.pk])
    assert reload(jobs[gone.pk]).status == Status.CANCELLED
    assert reload(bad).status == Status.FAILED
    assert reload(waits).hold == Hold.WAITING


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"after": [10**6]}, "There is no job 1000000 to wait for"),
        ({"after": "12"}, "after must be a list of jobs"),
        ({"after": 12}, "after must be a list of jobs"),
        ({"after": ["12"]}, "which is no job"),
        ({"after": [True]}, "which is no job"),
        ({"after": [0]}, "which is no job"),
        ({"on_parent_failure": "ignore"}, "on_parent_failure is 'ignore'"),
    ],
)
def test_bad_input_is_refused(options, words):
    with pytest.raises(InvalidInput, match=words):
        enqueue("test.noop", **options)
    assert not Job.objects.exists()


def test_a_duplicate_waits_for_nobody_new():
    first, parent = make_job(dedupe_key="k"), make_job()
    assert not enqueue("test.noop", dedupe_key="k", after=[parent]).created
    assert is_ready(first)
    assert not Dependency.objects.exists()


def test_many_at_once():
    parent = make_job()
    made = enqueue_many(NewJob("test.noop", after=[parent] if number % 2 else ()) for number in range(6)).created
    assert Job.objects.waiting().count() == 3
    end(parent)
    assert not Job.objects.waiting().exists()
    assert len(made) == 6


def test_who_is_too_many_for_one_transaction_is_let_go_after_it(monkeypatch, django_capture_on_commit_callbacks):
    monkeypatch.setattr("jobs.lifecycle.waiting.AT_ONCE", 2)
    parent = make_job()
    for _ in range(5):
        make_job(after=[parent])
    with django_capture_on_commit_callbacks(execute=True):
        end(parent)
        assert Job.objects.waiting().count() == 3
    assert not Job.objects.waiting().exists()


def test_a_job_that_nobody_waits_for_costs_no_statement():
    def statements(job: Job) -> int:
        with CaptureQueriesContext(connection) as captured:
            end(job)
        return sum("jobs_dependency" in query["sql"] for query in captured)

    parent = make_job()
    make_job(after=[parent])
    assert statements(parent) > 0
    assert statements(make_job(queue="q")) == 0
