"""Reap: rules (b) and (c), who is marked offline, and what becomes of what is taken back."""

import logging

import pytest

from jobs.handlers.registry import Kind
from jobs.lifecycle import reap
from jobs.lifecycle.claim import claim
from jobs.lifecycle.finish import complete
from jobs.lifecycle.heartbeat import heartbeat
from jobs.lifecycle.reap import reap_once
from jobs.lifecycle.workers import disable
from jobs.models import Job, JobEvent, QueueDelta, Worker
from jobs.states import Hold, Status, WorkerStatus
from tests.cursed_row import refuse_updates
from tests.factories import age, claimed, events_of, events_of_worker, make_job, make_worker, reload


def status_of(worker: Worker) -> str:
    return Worker.objects.get(pk=worker.pk).status


def test_nothing_to_do_does_nothing():
    claimed(make_worker())
    result = reap_once()
    assert (result.jobs, result.workers_offline, result.in_grace) == (0, [], False)


def test_a_job_that_cannot_be_taken_back_is_told_of_and_holds_up_no_other(caplog):
    cursed, other = claimed(make_worker()), claimed(make_worker())
    age(121)
    refuse_updates(cursed.job_id, "1 = 1")
    assert reap_once().requeued == [other.job_id]
    assert (reload(cursed).status, reload(other).status) == (Status.RUNNING, Status.PENDING)
    assert f"cannot be taken back job={cursed.job_id}" in caplog.text


# Rule (b)


def test_an_expired_job_of_a_silent_worker_is_taken_back():
    ref = claimed(worker := make_worker("w1"))
    age(121)
    result = reap_once()
    assert (result.requeued, result.workers_offline) == ([ref.job_id], ["w1"])
    job = reload(ref)
    assert (job.status, job.claim_id, job.worker_id) == (Status.PENDING, None, None)
    assert "was lost with worker w1" in job.last_error
    assert status_of(worker) == WorkerStatus.OFFLINE
    assert events_of(ref) == ["enqueued", "claimed", "reaped"]


def test_an_expired_job_of_a_disabled_worker_is_taken_back():
    ref = claimed(worker := make_worker())
    disable(worker.pk)
    age(121)
    heartbeat(worker.pk)
    assert reap_once().requeued == [ref.job_id]
    assert status_of(worker) == WorkerStatus.DISABLED


def test_an_expired_job_of_a_worker_that_is_gone_is_taken_back():
    ref = claimed(make_worker("gone"))
    Worker.objects.all().delete()
    age(121)
    assert reap_once().requeued == [ref.job_id]
    assert reload(ref).last_worker_name == "gone"


def test_an_expired_job_of_a_living_worker_stays():
    ref = claimed(worker := make_worker())
    age(500)
    heartbeat(worker.pk)
    assert reap_once().jobs == 0
    assert reload(ref).status == Status.RUNNING


@pytest.mark.parametrize("how", ["offline", "disabled", "gone"])
def test_a_lease_that_holds_protects_the_job_whatever_became_of_its_worker(kind: Kind, how):
    kind.lease = 3600
    ref = claimed(worker := make_worker(), kind=kind.name)
    if how == "disabled":
        disable(worker.pk)
    elif how == "gone":
        Worker.objects.all().delete()
    age(500)
    assert reap_once().jobs == 0
    complete(ref)


def test_a_later_sweep_frees_a_job_whose_worker_went_offline_earlier(kind: Kind):
    kind.lease = 3600
    ref = claimed(make_worker(), kind=kind.name)
    age(500)
    assert reap_once().workers_offline == ["worker"]
    age(3200)
    result = reap_once()
    assert (result.requeued, result.workers_offline) == ([ref.job_id], [])


# Rule (c)


def test_a_lease_that_was_over_for_longer_than_the_stale_lock_age_is_taken_whatever_the_worker_says():
    ref = claimed(worker := make_worker())
    age(120 + 45 * 60 - 10)
    heartbeat(worker.pk)
    assert reap_once().jobs == 0
    age(11)
    assert reap_once().requeued == [ref.job_id]
    assert status_of(worker) != WorkerStatus.OFFLINE


def test_a_stale_lock_age_of_zero_switches_the_rule_off(settings):
    settings.JOBS_STALE_LOCK_AGE = 0
    ref = claimed(worker := make_worker())
    age(10**6)
    heartbeat(worker.pk)
    assert reap_once().jobs == 0
    assert reload(ref).status == Status.RUNNING


# Workers


def test_a_worker_within_the_threshold_stays():
    worker = make_worker()
    age(117)
    assert reap_once().workers_offline == []
    assert status_of(worker) == WorkerStatus.IDLE


def test_a_worker_that_never_beat_is_judged_by_its_registration():
    worker = make_worker(beaten=False)
    age(117)
    assert reap_once().workers_offline == []
    age(10)
    assert reap_once().workers_offline == ["worker"]
    assert status_of(worker) == WorkerStatus.OFFLINE


def test_a_worker_that_beats_is_not_judged_by_its_registration():
    worker = make_worker(beaten=False)
    age(1000)
    heartbeat(worker.pk)
    assert reap_once().workers_offline == []


def test_a_disabled_worker_stays_disabled_however_silent():
    worker = make_worker()
    disable(worker.pk)
    age(10_000)
    assert reap_once().workers_offline == []
    assert status_of(worker) == WorkerStatus.DISABLED


def test_an_offline_worker_is_told_of_once():
    worker = make_worker()
    age(1000)
    reap_once()
    reap_once()
    assert events_of_worker(worker) == ["worker_online", "worker_offline"]


# What becomes of a job


def test_the_first_reap_is_due_at_once_and_the_second_waits():
    ref = claimed(backoff="fixed:40", max_attempts=5)
    age(1000)
    reap_once()
    assert reload(ref).hold == Hold.NONE
    claimed(job=reload(ref))
    age(1000)
    reap_once()
    job = reload(ref)
    assert (job.hold, job.crashes, job.attempt) == (Hold.SCHEDULED, 2, 2)
    last = JobEvent.objects.filter(name="reaped").latest("id")
    assert (job.run_after - last.at).total_seconds() == pytest.approx(40, abs=1)


def test_a_job_whose_attempts_are_used_up_fails_and_says_why():
    ref = claimed(make_worker("w1"), max_attempts=1)
    age(1000)
    assert reap_once().failed == [ref.job_id]
    job = reload(ref)
    assert (job.status, job.crashes) == (Status.FAILED, 1)
    assert job.last_error.startswith("Attempt 1 of 1 was lost with worker w1: ")
    assert events_of(ref)[-1] == "failed"


@pytest.mark.parametrize("size", [1, 2, 3, 10])
def test_batches_are_taken_until_nothing_is_left(monkeypatch, size):
    monkeypatch.setattr(reap, "BATCH", size)
    jobs = [make_job() for _ in range(3)]
    claim(make_worker(slots=3), [], 3)
    age(1000)
    assert sorted(reap_once().requeued) == [job.pk for job in jobs]


def test_a_dry_run_tells_what_it_would_do_and_does_nothing():
    charged, unstarted = claimed(make_worker("w1")), claimed(make_worker("w2"), start=False)
    age(1000)
    before = list(Job.objects.order_by("id").values()), JobEvent.objects.count(), list(Worker.objects.values())
    result = reap_once(dry_run=True)
    assert (result.requeued, result.released) == ([charged.job_id], [unstarted.job_id])
    assert (sorted(result.workers_offline), result.dry_run) == (["w1", "w2"], True)
    assert (
        list(Job.objects.order_by("id").values()),
        JobEvent.objects.count(),
        list(Worker.objects.values()),
    ) == before


def test_what_was_done_is_told_in_one_line_of_the_log(caplog):
    claimed(make_worker(), max_attempts=1)
    age(1000)
    with caplog.at_level(logging.INFO, logger="jobs.reap"):
        result = reap_once()
        reap_once()
    [line] = caplog.messages
    assert "count=1 requeued=0 failed=1 cancelled=0 released=0 workers_offline=1 dry_run=false" in line
    assert result.as_dict()["failed"] == result.failed


def test_it_folds_the_counters():
    claimed()
    assert QueueDelta.objects.exists()
    reap_once()
    assert not QueueDelta.objects.exists()
