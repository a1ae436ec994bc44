"""Offline marks and lost claims against heartbeats: the one that commits first is believed."""

from functools import partial

import pytest
from django.db import transaction

from jobs.exceptions import ClaimExpired
from jobs.lifecycle import reap
from jobs.lifecycle.cancel import cancel
from jobs.lifecycle.claim import claim
from jobs.lifecycle.fence import ref_of
from jobs.lifecycle.finish import complete
from jobs.lifecycle.heartbeat import heartbeat
from jobs.lifecycle.reap import reap_once
from jobs.lifecycle.workers import disable
from jobs.models import Job
from jobs.states import Status, WorkerStatus
from tests.concurrency.threads import Running, together
from tests.factories import age, claimed, events_of_worker, make_job, make_worker, reload

pytestmark = [pytest.mark.postgres, pytest.mark.django_db(transaction=True)]


def status_of(worker):
    worker.refresh_from_db()
    return worker.status


def mark_silent_workers_offline():
    result = reap.ReapResult()
    reap.mark_offline(reap.silent(), "silent", result)
    return result.workers_offline


def test_a_worker_that_beats_first_is_not_marked_offline():
    worker = make_worker()
    age(300)
    with transaction.atomic():
        heartbeat(worker.pk)
        assert Running(mark_silent_workers_offline).result() == []
    assert mark_silent_workers_offline() == []
    assert status_of(worker) == WorkerStatus.IDLE


def test_a_heartbeat_that_comes_late_brings_the_worker_back():
    worker = make_worker()
    age(300)
    with transaction.atomic():
        assert mark_silent_workers_offline() == ["worker"]
        beating = Running(partial(heartbeat, worker.pk))
        beating.wait_until_blocked()
    assert not beating.result().disabled
    assert status_of(worker) == WorkerStatus.IDLE
    assert events_of_worker(worker)[-2:] == ["worker_offline", "worker_online"]


def test_a_heartbeat_that_meets_disable_leaves_the_worker_disabled():
    worker = make_worker()
    with transaction.atomic():
        disable(worker.pk)
        beating = Running(partial(heartbeat, worker.pk))
        beating.wait_until_blocked()
    assert beating.result().disabled
    assert status_of(worker) == WorkerStatus.DISABLED


def test_a_finish_that_meets_disable_leaves_the_worker_disabled():
    worker = make_worker()
    ref = claimed(worker)
    with transaction.atomic():
        disable(worker.pk)
        completing = Running(partial(complete, ref))
        completing.wait_until_blocked()
    assert completing.result().status == Status.COMPLETED
    assert status_of(worker) == WorkerStatus.DISABLED


@pytest.fixture
def forgotten():
    """A claim that two heartbeats of its worker left out."""
    worker = make_worker()
    ref = claimed(worker)
    heartbeat(worker.pk)
    heartbeat(worker.pk)
    return worker, ref


def test_a_claim_that_is_listed_again_before_the_reaper_looks_is_kept(forgotten):
    worker, ref = forgotten
    with transaction.atomic():
        assert heartbeat(worker.pk, [ref]).lost == ()
        assert Running(reap_once).result().jobs == 0
    assert reap_once().jobs == 0
    assert complete(ref).status == Status.COMPLETED


def test_a_claim_that_is_listed_after_the_reaper_took_it_is_lost(forgotten):
    worker, ref = forgotten
    with transaction.atomic():
        assert reap_once().released == [ref.job_id]
        beating = Running(partial(heartbeat, worker.pk, [ref]))
        beating.wait_until_blocked()
    assert beating.result().lost == (ref,)
    assert (reload(ref).status, reload(ref).attempt) == (Status.PENDING, 0)


def test_a_job_that_somebody_holds_locked_keeps_its_worker_and_the_others_jobs_alive():
    worker = make_worker(slots=3)
    held, free, unlisted = claimed(worker), claimed(worker), claimed(worker)
    age(100)
    with transaction.atomic():
        Job.objects.select_for_update().get(pk=held.job_id)
        Job.objects.select_for_update().get(pk=unlisted.job_id)
        assert Running(partial(heartbeat, worker.pk, [held, free])).result().lost == ()
    assert mark_silent_workers_offline() == []
    age(100)  # by now the lease of the held job is over, and the free one's was renewed
    assert complete(free).status == Status.COMPLETED
    with pytest.raises(ClaimExpired):
        complete(held)
    assert heartbeat(worker.pk, [held]).lost == ()
    assert complete(held).status == Status.COMPLETED
    assert reload(unlisted).unlisted_beats == 1  # the beat that found it locked did not count it


def test_a_cancel_request_is_told_although_somebody_holds_the_row():
    ref = claimed(worker := make_worker())
    cancel(ref.job_id)
    with transaction.atomic():
        Job.objects.select_for_update().get(pk=ref.job_id)
        assert Running(partial(heartbeat, worker.pk, [ref])).result().cancel == (ref,)


def test_heartbeats_beside_finishes_and_claims_of_one_worker_neither_block_nor_lose_anything():
    for _ in range(40):
        make_job()
    worker = make_worker(slots=4)

    def work():
        while jobs := claim(worker, limit=2):
            for job in jobs:
                complete(job.claim)

    def beat():
        while Job.objects.exclude(status=Status.COMPLETED).exists():
            heartbeat(worker.pk, [ref_of(job) for job in Job.objects.filter(worker=worker, status=Status.RUNNING)])

    together([work, work, work, beat])
    assert Job.objects.filter(status=Status.COMPLETED, attempt=1).count() == 40
