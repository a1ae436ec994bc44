"""Several reapers, and one that dies half-way: each job moves once, and the next reaper finishes."""

import threading
from functools import partial

import pytest
from django.db import OperationalError, transaction

from jobs.lifecycle import reap
from jobs.lifecycle.claim import claim
from jobs.lifecycle.reap import reap_once
from jobs.models import Job, JobEvent
from jobs.states import EventName, Status
from tests.concurrency.threads import TIMEOUT, Running, scalar, together, wait_until
from tests.factories import age, make_job, make_worker

pytestmark = [pytest.mark.postgres, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def stranded():
    """Twenty running jobs whose worker has gone silent."""
    jobs = [make_job(max_attempts=2).pk for _ in range(20)]
    claim(make_worker(slots=20), limit=20)
    age(300)
    return jobs


def assert_each_was_reaped_once(jobs):
    assert set(Job.objects.values_list("status", "attempt", "crashes")) == {(Status.PENDING, 1, 1)}
    reaped = JobEvent.objects.filter(name=EventName.REAPED).order_by("job_id")
    assert [event.job_id for event in reaped] == jobs


def test_reapers_that_run_at_once_take_each_job_once(stranded, monkeypatch):
    monkeypatch.setattr(reap, "BATCH", 3)  # many turns each, so that they meet
    results = together([reap_once] * 6)
    assert sorted(job for result in results for job in result.requeued) == stranded
    assert sum(len(result.workers_offline) for result in results) == 1
    assert_each_was_reaped_once(stranded)


def test_the_reaped_jobs_of_an_offline_worker_are_counted_once(stranded):
    together([reap_once] * 4)
    assert JobEvent.objects.filter(name=EventName.WORKER_OFFLINE).count() == 1


def test_a_reaper_that_is_killed_half_way_undoes_its_batch_and_the_next_one_finishes(stranded, monkeypatch):
    monkeypatch.setattr(reap, "BATCH", 5)
    first_half_done, killed = threading.Event(), threading.Event()
    everything = reap.expired()

    def reap_and_hang():
        reap.take_back_batch(everything, "first half", charge=True)
        with transaction.atomic():
            reap.take_back_batch(everything, "second half", charge=True)
            first_half_done.set()
            assert killed.wait(TIMEOUT)

    reaper = Running(reap_and_hang)
    assert first_half_done.wait(TIMEOUT)
    assert reap_once().jobs == 10  # of the 20, five were committed, and five are locked by the one that hangs
    assert scalar("SELECT pg_terminate_backend(%s)", reaper.backend_pid)
    wait_until(lambda: not scalar("SELECT count(*) FROM pg_stat_activity WHERE pid = %s", reaper.backend_pid))
    killed.set()
    with pytest.raises(OperationalError):
        reaper.result()
    assert reap_once().jobs == 5
    assert_each_was_reaped_once(stranded)


def test_a_dry_run_holds_up_no_reaper_and_changes_nothing(stranded):
    results = together([partial(reap_once, dry_run=True), partial(reap_once, dry_run=True)])
    assert all(result.dry_run for result in results)
    assert Job.objects.filter(status=Status.RUNNING).count() == 20
    assert len(reap_once().requeued) == 20
    assert_each_was_reaped_once(stranded)
