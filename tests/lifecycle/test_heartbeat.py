"""Heartbeat: a worker says that it lives, renews what it lists, and is told what to do."""

from uuid import uuid4

import pytest
from django.db.models import Q

from jobs.exceptions import WorkerNotFound
from jobs.handlers.base import ClaimRef
from jobs.lifecycle.cancel import cancel
from jobs.lifecycle.finish import complete
from jobs.lifecycle.heartbeat import Orders, heartbeat
from jobs.lifecycle.reap import ReapResult, mark_offline, reap_once
from jobs.lifecycle.workers import disable, drain
from jobs.models import Worker
from jobs.states import Status, WorkerStatus
from tests.factories import age, claimed, events_of_worker, lease_end, make_worker, reload


def test_it_renews_the_claims_it_lists_and_no_others():
    worker = make_worker(slots=2)
    listed, unlisted = claimed(worker), claimed(worker)
    age(100)
    before = lease_end(unlisted)
    assert heartbeat(worker.pk, [listed]) == Orders()
    assert (lease_end(listed) - before).total_seconds() == pytest.approx(100, abs=5)
    assert lease_end(unlisted) == before


def test_it_renews_with_the_lease_of_the_kind(kind):
    kind.lease = 500
    worker = make_worker()
    ref = claimed(worker, kind=kind.name)
    age(400)
    heartbeat(worker.pk, [ref])
    age(400)
    complete(ref)


def test_it_renews_an_expired_claim_that_nobody_has_taken():
    ref = claimed(worker := make_worker())
    age(500)
    assert heartbeat(worker.pk, [ref]).lost == ()
    complete(ref)


def test_a_claim_that_was_taken_is_told_as_lost_and_stays_with_its_new_holder():
    old_worker, new_worker = make_worker("old"), make_worker("new")
    old = claimed(old_worker)
    age(1000)
    heartbeat(new_worker.pk)
    reap_once()
    new = claimed(new_worker, reload(old))
    before = lease_end(old)
    age(10)
    assert heartbeat(old_worker.pk, [old]).lost == (old,)
    job = reload(old)
    assert (job.worker_id, job.claim_id) == (new_worker.pk, new.claim_id)
    assert (before - lease_end(old)).total_seconds() == pytest.approx(10, abs=1)


def test_a_wrong_claim_id_renews_nothing():
    ref = claimed(worker := make_worker())
    age(100)
    before = lease_end(ref)
    wrong = ClaimRef(ref.job_id, uuid4())
    assert heartbeat(worker.pk, [wrong]).lost == (wrong,)
    assert lease_end(ref) == before


def test_claim_ids_crossed_between_jobs_renew_nothing():
    worker = make_worker(slots=2)
    first, second = claimed(worker), claimed(worker)
    age(100)
    before = [lease_end(ref) for ref in (first, second)]
    crossed = [ClaimRef(first.job_id, second.claim_id), ClaimRef(second.job_id, first.claim_id)]
    assert set(heartbeat(worker.pk, crossed).lost) == set(crossed)
    assert [lease_end(ref) for ref in (first, second)] == before


def test_another_workers_heartbeat_renews_nothing():
    ref = claimed(make_worker("holder"))
    age(100)
    before = lease_end(ref)
    assert heartbeat(make_worker("other").pk, [ref]).lost == (ref,)
    assert lease_end(ref) == before


def test_a_finished_claim_is_told_as_lost():
    ref = claimed(worker := make_worker())
    complete(ref)
    assert heartbeat(worker.pk, [ref]).lost == (ref,)
    assert reload(ref).status == Status.COMPLETED


def test_it_brings_the_cancel_requests_of_listed_claims():
    worker = make_worker(slots=2)
    asked, other = claimed(worker), claimed(worker)
    cancel(asked.job_id)
    assert heartbeat(worker.pk, [asked, other]).cancel == (asked,)


def test_it_brings_the_order_to_drain():
    worker = make_worker()
    drain(worker.pk)
    assert heartbeat(worker.pk) == Orders(drain=True)


def test_it_brings_the_word_disabled_and_does_not_undo_it():
    worker = make_worker()
    disable(worker.pk)
    assert heartbeat(worker.pk).disabled
    assert heartbeat(worker.pk).disabled
    assert Worker.objects.get().status == WorkerStatus.DISABLED


def test_an_offline_worker_is_online_again():
    worker = make_worker()
    age(1000)
    reap_once()
    assert Worker.objects.get().status == WorkerStatus.OFFLINE
    heartbeat(worker.pk)
    assert Worker.objects.get().status == WorkerStatus.IDLE
    assert events_of_worker(worker) == ["worker_online", "worker_offline", "worker_online"]


def test_a_worker_with_full_slots_comes_back_busy():
    ref = claimed(worker := make_worker())
    age(1000)
    mark_offline(Q(), "silent", ReapResult())
    heartbeat(worker.pk, [ref])
    assert Worker.objects.get().status == WorkerStatus.BUSY


def test_it_never_wipes_what_it_does_not_mention():
    worker = make_worker(metadata={"site": "attic"})
    heartbeat(worker.pk, capabilities={"gpu": True, "encoders": ["x264"]})
    heartbeat(worker.pk)
    heartbeat(worker.pk, capabilities={"memory": 8}, metadata={"load": 0.5})
    worker.refresh_from_db()
    assert worker.capabilities == {"gpu": True, "encoders": ["x264"], "memory": 8}
    assert worker.metadata == {"site": "attic", "load": 0.5}
    assert worker.gpu


def test_what_it_mentions_may_take_a_gpu_away():
    worker = make_worker(gpu=True)
    heartbeat(worker.pk, capabilities={"gpu": False})
    worker.refresh_from_db()
    assert not worker.gpu


def test_capabilities_that_cannot_be_stored_are_cleaned():
    worker = make_worker()
    heartbeat(worker.pk, capabilities={"a\x00": float("nan")}, metadata={"b": "\ud800"})
    worker.refresh_from_db()
    assert worker.capabilities == {"gpu": False, "a\ufffd": None}
    assert worker.metadata == {"b": "?"}


def test_a_worker_that_is_not_known_is_told_so_and_renews_nothing():
    ref = claimed(worker := make_worker())
    Worker.objects.all().delete()
    age(50)
    before = lease_end(ref)
    with pytest.raises(WorkerNotFound, match=str(worker.pk)):
        heartbeat(worker.pk, [ref])
    assert lease_end(ref) == before
