"""The grace: after the database was away, live workers get time to renew before anybody is judged."""

import pytest

from jobs.lifecycle.finish import complete, release
from jobs.lifecycle.heartbeat import heartbeat
from jobs.lifecycle.reap import reap_once
from jobs.lifecycle.workers import disable
from jobs.models import ServiceBeat, Worker
from jobs.states import Status
from tests.factories import age, claimed, make_worker, reload
from tests.processes import dead_process

on_postgres = pytest.mark.postgres


@on_postgres
def test_after_an_outage_nobody_is_judged_and_live_workers_keep_their_jobs():
    ref = claimed(worker := make_worker())
    age(600, outage=True)
    result = reap_once()
    assert (result.in_grace, result.jobs, result.workers_offline) == (True, 0, [])
    heartbeat(worker.pk, [ref])
    assert reap_once().in_grace
    complete(ref)


@on_postgres
def test_when_the_grace_is_over_who_has_not_come_back_is_judged():
    ref = claimed(make_worker("gone"))
    age(600, outage=True)
    reap_once()
    age(117)
    assert reap_once().in_grace
    age(4)
    result = reap_once()
    assert (result.in_grace, result.requeued, result.workers_offline) == (False, [ref.job_id], ["gone"])


@on_postgres
def test_the_grace_never_holds_back_what_is_proven_dead_or_unlisted():
    dead = claimed(make_worker(process=dead_process()))
    worker = make_worker("forgetful")
    unlisted = claimed(worker)
    heartbeat(worker.pk)
    heartbeat(worker.pk)
    age(600, outage=True)
    result = reap_once()
    assert (result.in_grace, result.requeued, result.released) == (True, [dead.job_id], [unlisted.job_id])


@on_postgres
def test_a_worker_that_is_first_to_come_back_begins_the_grace_for_the_others():
    first, second = make_worker("first"), make_worker("second")
    late = claimed(second)
    age(600, outage=True)
    heartbeat(first.pk)
    assert reap_once().in_grace
    assert heartbeat(second.pk, [late]).lost == ()


@on_postgres
def test_who_was_missing_before_the_outage_is_judged_during_the_grace():
    missing = claimed(make_worker("missing"))
    age(300)
    there = claimed(make_worker("there"))
    age(600, outage=True)
    result = reap_once()
    assert (result.in_grace, result.requeued, result.workers_offline) == (True, [missing.job_id], ["missing"])
    assert reload(there).status == Status.RUNNING


@on_postgres
def test_claims_of_a_worker_that_is_deleted_are_not_shielded():
    ref = claimed(worker := make_worker())
    worker.delete()
    age(600, outage=True)
    result = reap_once()
    assert (result.in_grace, result.requeued) == (True, [ref.job_id])


@on_postgres
def test_a_lease_that_was_over_long_ago_is_shielded_too(settings):
    settings.JOBS_STALE_LOCK_AGE = 300
    ref = claimed(worker := make_worker())
    age(600, outage=True)
    assert (reap_once().in_grace, reload(ref).status) == (True, Status.RUNNING)
    assert heartbeat(worker.pk, [ref]).lost == ()


@on_postgres
def test_a_disabled_worker_gets_time_to_hand_its_job_back():
    ref = claimed(worker := make_worker())
    disable(worker.pk)
    age(600, outage=True)
    assert (reap_once().in_grace, reload(ref).status) == (True, Status.RUNNING)
    assert heartbeat(worker.pk, [ref]).disabled
    assert release(ref, "its worker is disabled").status == Status.PENDING


@on_postgres
def test_a_worker_that_registered_and_had_no_time_to_beat_is_shielded():
    ref = claimed(worker := make_worker())
    Worker.objects.filter(pk=worker.pk).update(last_heartbeat=None)
    age(600, outage=True)
    result = reap_once()
    assert (result.in_grace, result.workers_offline, reload(ref).status) == (True, [], Status.RUNNING)


@on_postgres
def test_an_outage_that_makes_a_live_worker_look_silent_counts_though_shorter_than_the_threshold():
    ref = claimed(worker := make_worker())
    heartbeat(worker.pk, [ref])
    age(25)
    age(100, outage=True)
    result = reap_once()
    assert (result.in_grace, result.workers_offline) == (True, [])


@on_postgres
@pytest.mark.parametrize("who", ["a reaper", "a worker"])
def test_rare_beats_shield_nobody_for_good(who):
    """A site with nothing but a cron job that reaps, or that runs a worker for a moment, every ten minutes."""
    ref = claimed(make_worker("gone"))
    age(600, outage=True)
    assert reap_once().jobs == 0
    age(600, outage=True)
    if who == "a worker":
        heartbeat(make_worker("back").pk)
    result = reap_once()
    assert (result.requeued, result.workers_offline) == ([ref.job_id], ["gone"])


@on_postgres
def test_a_second_outage_shields_who_was_heard_after_the_first():
    ref = claimed(worker := make_worker())
    age(600, outage=True)
    reap_once()
    age(10)
    heartbeat(worker.pk, [ref])
    age(600, outage=True)
    result = reap_once()
    assert (result.in_grace, result.jobs, result.workers_offline) == (True, 0, [])


@on_postgres
@pytest.mark.parametrize("who", ["a worker", "a reaper"])
def test_short_silences_are_no_outage_however_many(who):
    worker = make_worker()
    for _ in range(3):
        age(80, outage=True)
        if who == "a worker":
            heartbeat(worker.pk)
        else:
            assert not reap_once().in_grace
    assert not reap_once().in_grace


@on_postgres
def test_ordinary_pauses_between_heartbeats_are_no_silence_however_low_the_threshold(settings):
    settings.JOBS_WORKER_OFFLINE_THRESHOLD = 40
    worker = make_worker()
    heartbeat(worker.pk)
    age(31, outage=True)
    assert not reap_once().in_grace


@on_postgres
def test_the_first_reaper_of_all_finds_no_outage():
    ServiceBeat.objects.all().delete()
    assert not reap_once().in_grace


@on_postgres
def test_the_length_of_the_grace_is_a_setting(settings):
    settings.JOBS_REAP_GRACE = 10
    make_worker()
    age(600, outage=True)
    assert reap_once().in_grace
    age(11)
    assert not reap_once().in_grace


@on_postgres
def test_a_dry_run_neither_begins_nor_uses_up_a_grace():
    make_worker()
    age(600, outage=True)
    assert reap_once(dry_run=True).in_grace
    assert ServiceBeat.objects.get().up_since is None
    assert reap_once().in_grace


@pytest.mark.sqlite
def test_on_sqlite_there_is_no_grace():
    ref = claimed(make_worker())
    age(600, outage=True)
    result = reap_once()
    assert (result.in_grace, result.requeued) == (False, [ref.job_id])
    assert reload(ref).status == Status.PENDING
