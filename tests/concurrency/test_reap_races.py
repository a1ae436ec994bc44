"""The reaper against the others: whoever commits first wins, and the other one sees no row."""

from dataclasses import replace
from functools import partial

import pytest
from django.db import transaction

from jobs.exceptions import ClaimLost
from jobs.handlers.base import Report
from jobs.lifecycle.cancel import cancel
from jobs.lifecycle.claim import claim
from jobs.lifecycle.finish import complete, fail
from jobs.lifecycle.heartbeat import heartbeat
from jobs.lifecycle.reap import reap_once
from jobs.lifecycle.report import report
from jobs.process_identity import this_process
from jobs.states import Status
from tests.concurrency.threads import Running, rolled_back
from tests.factories import age, claimed, events_of, make_worker, reload

pytestmark = [pytest.mark.postgres, pytest.mark.django_db(transaction=True)]

LONG = 300  # longer than a lease and than the silence after which a worker is offline


def dead_worker():
    """A worker whose process is provably gone: rule (a) takes its jobs while their leases still run."""
    return make_worker("dead", process=replace(this_process(), start_ticks=1))


def expired_claim():
    """A claim whose lease is over, held by a worker not heard of for as long."""
    worker = make_worker()
    ref = claimed(worker)
    age(LONG)
    return worker, ref


def test_a_completion_that_comes_first_stays():
    ref = claimed(dead_worker())
    with transaction.atomic():
        complete(ref, {"done": 1})
        assert Running(reap_once).result().jobs == 0  # it passes over the locked row and does not wait
    assert reap_once().jobs == 0
    assert reload(ref).status == Status.COMPLETED
    assert "reaped" not in events_of(ref)


@pytest.mark.parametrize("late", [complete, partial(fail, error="late"), lambda ref: report(Report(ref, progress=50))])
def test_what_a_reaped_worker_writes_late_is_refused(late):
    ref = claimed(dead_worker())
    with transaction.atomic():
        reap_once()
        writing = Running(partial(late, ref))
        writing.wait_until_blocked()
    with pytest.raises(ClaimLost):
        writing.result()
    job = reload(ref)
    assert (job.status, job.attempt, job.crashes, job.progress) == (Status.PENDING, 1, 1, 0)
    assert events_of(ref) == ["enqueued", "claimed", "reaped"]


def test_a_completion_is_accepted_if_the_reaper_is_rolled_back():
    ref = claimed(dead_worker())
    with rolled_back():
        reap_once()
        writing = Running(partial(complete, ref))
        writing.wait_until_blocked()
    assert writing.result().status == Status.COMPLETED
    assert events_of(ref) == ["enqueued", "claimed", "completed"]


def test_a_heartbeat_that_comes_first_keeps_the_claim():
    worker, ref = expired_claim()
    with transaction.atomic():
        assert heartbeat(worker.pk, [ref]).lost == ()
        result = Running(reap_once).result()
        assert (result.jobs, result.workers_offline) == (0, [])
    assert reap_once().jobs == 0
    assert complete(ref).status == Status.COMPLETED


def test_a_heartbeat_that_comes_late_is_told_that_the_claim_is_lost():
    worker, ref = expired_claim()
    with transaction.atomic():
        assert reap_once().requeued == [ref.job_id]
        beating = Running(partial(heartbeat, worker.pk, [ref]))
        beating.wait_until_blocked()
    assert beating.result().lost == (ref,)
    assert reload(ref).status == Status.PENDING


def test_a_cancel_that_comes_first_ends_the_job_at_the_next_reap():
    _, ref = expired_claim()
    with transaction.atomic():
        assert cancel(ref.job_id).requested == [ref.job_id]
        assert Running(reap_once).result().jobs == 0
    assert reap_once().cancelled == [ref.job_id]
    assert reload(ref).status == Status.CANCELLED
    assert events_of(ref) == ["enqueued", "claimed", "cancel_requested", "cancelled"]


def test_a_cancel_that_comes_late_finds_the_job_pending_and_ends_it():
    _, ref = expired_claim()
    with transaction.atomic():
        assert reap_once().requeued == [ref.job_id]
        cancelling = Running(partial(cancel, ref.job_id))
        cancelling.wait_until_blocked()
    assert cancelling.result().cancelled == [ref.job_id]
    assert events_of(ref) == ["enqueued", "claimed", "reaped", "cancelled"]


def test_a_reaped_job_can_be_claimed_only_after_the_reaper_has_committed():
    _, ref = expired_claim()
    other = make_worker("other")
    with transaction.atomic():
        reap_once()
        assert Running(partial(claim, other)).result() == []
    assert [job.id for job in claim(other)] == [ref.job_id]


def test_a_reaper_beside_a_new_claim_leaves_it_alone():
    expired_claim()
    other = make_worker("other")
    reap_once()
    with transaction.atomic():
        [again] = claim(other)
        assert Running(reap_once).result().jobs == 0
    assert reap_once().jobs == 0
    assert complete(again.claim).status == Status.COMPLETED


def test_the_old_claim_is_lost_also_when_the_same_worker_claims_again():
    worker, ref = expired_claim()
    with transaction.atomic():
        reap_once()
        beating = Running(partial(heartbeat, worker.pk, [ref]))
        beating.wait_until_blocked()
    beating.result()
    [again] = claim(worker)
    assert again.id == ref.job_id
    with pytest.raises(ClaimLost):
        complete(ref)
    assert complete(again.claim).status == Status.COMPLETED
