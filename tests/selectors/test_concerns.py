"""What needs attention: each rule, just inside and just outside its threshold."""

from collections import Counter

import pytest
from django.db.models import Q

from jobs.handlers.base import Outcome
from jobs.lifecycle.claim import claim
from jobs.lifecycle.finish import finish
from jobs.lifecycle.queues import pause
from jobs.lifecycle.reap import ReapResult, mark_offline
from jobs.lifecycle.workers import remove, sign_off
from jobs.selectors.concerns import Snapshot, concerns
from jobs.selectors.depth import Depth
from jobs.selectors.overview import overview
from jobs.selectors.throughput import Activity
from jobs.states import Status
from tests.factories import age, claimed, job_in, make_job, make_worker


def names(**seen) -> list[str]:
    return [concern.name for concern in concerns(Snapshot(**seen))]


def test_an_empty_queue_is_no_concern():
    assert names() == []
    assert names(queues={"mail": Depth(pending=3, running=2, completed=100)}) == []


@pytest.mark.parametrize(("waited", "claims", "found"), [(61, 0, ["no_claims"]), (59, 0, []), (61, 1, [])])
def test_jobs_wait_and_nobody_claims(waited, claims, found):
    depth = Depth(pending=1, oldest_pending_seconds=waited)
    assert names(queues={"mail": depth}, claimed_lately={"mail": claims}) == found


def test_a_paused_queue_may_wait():
    depth = Depth(pending=1, oldest_pending_seconds=600)
    assert names(queues={"mail": depth}, paused=frozenset({"mail"})) == []


@pytest.mark.parametrize(("live", "advice"), [(0, "No worker is running"), (1, "See whether a worker serves")])
def test_the_advice_depends_on_whether_there_is_a_worker(live, advice):
    depth = Depth(pending=1, oldest_pending_seconds=600)
    [concern] = concerns(Snapshot(queues={"mail": depth}, live_workers=live))
    assert concern.advice.startswith(advice)


@pytest.mark.parametrize(
    ("completed", "failed", "found"), [(9, 1, []), (88, 12, ["error_rate_high"]), (90, 10, []), (0, 9, [])]
)
def test_too_many_of_those_that_ended_failed(completed, failed, found):
    lately = Activity(60, Counter(completed=completed, failed=failed))
    assert names(last_hour={"mail": lately}) == found


def test_a_deep_queue(settings):
    settings.JOBS_ALERT_DEPTH = 5
    assert names(queues={"mail": Depth(pending=5)}) == []
    assert names(queues={"mail": Depth(pending=6)}) == ["queue_depth_high"]


def test_the_grave_ones_come_first():
    deep = Depth(failed=2, pending=1, oldest_pending_seconds=600)
    assert names(queues={"mail": deep}, states={"stalled": 1, "expired": 1, "claimed": 5}) == [
        "no_claims", "job_stalled", "job_expired", "job_failed",
    ]  # fmt: skip


# And as the database says:
pytest_database = pytest.mark.django_db


def found() -> list[str]:
    return [concern.name for concern in overview().concerns]


@pytest_database
def test_failed_stalled_and_expired_jobs_are_found():
    job_in(Status.FAILED)
    claimed(make_worker(), queue="a")
    age(60 * 11)
    claimed(make_worker(), queue="b")
    assert found() == ["job_expired", "job_failed"]


@pytest_database
def test_nobody_claims_until_somebody_does():
    make_job(queue="mail"), make_job(queue="mail")
    age(65)
    assert found() == ["no_claims"]
    pause("mail")
    assert found() == []
    make_job(queue="media"), make_job(queue="media")
    age(65)
    claim(make_worker(), ["media"])
    assert found() == []


@pytest_database
def test_a_worker_that_vanished_is_a_concern_until_another_of_its_name_is_there_or_it_is_removed():
    left, lost = make_worker("left"), make_worker("lost")
    sign_off(left.pk)
    assert found() == []
    mark_offline(Q(pk=lost.pk), "silent", ReapResult())
    assert [concern.text for concern in overview().concerns] == ["1 worker went offline without signing off: lost."]
    other = make_worker("lost")
    assert found() == []
    mark_offline(Q(pk=other.pk), "silent", ReapResult())
    remove(other.pk)
    remove(lost.pk)
    assert found() == []


@pytest_database
def test_errors_of_the_last_hour_are_a_concern_and_older_ones_are_not():
    for _ in range(10):
        make_job(queue="mail", max_attempts=1)
    finish([Outcome.failed(job.claim, "broken") for job in claim(make_worker(), ["mail"], 10)])
    assert found() == ["error_rate_high", "job_failed"]
    age(3700)
    assert found() == ["job_failed"]
