"""A claim call repeated with the same id returns what that id still holds, and never adds."""

from uuid import uuid4

import pytest

from jobs.handlers.base import ClaimRef, PhaseReport, QualityReport, Report
from jobs.lifecycle.claim import claim
from jobs.lifecycle.finish import complete, release
from jobs.lifecycle.heartbeat import heartbeat
from jobs.lifecycle.reap import reap_once
from jobs.lifecycle.report import report
from jobs.states import PhaseStatus, QualityStatus
from tests.factories import age, claimed, make_job, make_worker, reload


@pytest.mark.parametrize("queues", [[], ["default"]])
def test_the_repeated_call_returns_the_same_jobs_though_others_wait(queues):
    jobs = [make_job(payload={"n": n}) for n in range(4)]
    worker, claim_id = make_worker(slots=4), uuid4()
    first = claim(worker, queues, 2, claim_id)
    assert claim(worker, queues, 2, claim_id) == first
    assert [job.id for job in first] == [jobs[0].pk, jobs[1].pk]
    assert reload(jobs[2]).claim_id is None


def test_a_larger_limit_adds_nothing():
    for _ in range(3):
        make_job()
    worker, claim_id = make_worker(), uuid4()
    assert len(claim(worker, [], 1, claim_id)) == 1
    assert len(claim(worker, [], 3, claim_id)) == 1


def test_it_returns_only_what_it_still_holds():
    worker, claim_id = make_worker(slots=3), uuid4()
    kept, done, back = make_job(), make_job(), make_job()
    claim(worker, [], 3, claim_id)
    complete(ClaimRef(done.pk, claim_id))
    release(ClaimRef(back.pk, claim_id), "not now")
    assert [job.id for job in claim(worker, [], 3, claim_id)] == [kept.pk]


def test_it_returns_nothing_of_the_workers_other_claims():
    worker = make_worker(slots=2)
    first, second = claimed(worker), claimed(worker)
    assert [job.claim for job in claim(worker, [], 1, first.claim_id)] == [first]
    assert [job.claim for job in claim(worker, [], 1, second.claim_id)] == [second]


def test_it_adds_nothing_even_after_everything_of_it_was_finished():
    worker, claim_id = make_worker(), uuid4()
    done = make_job()
    claim(worker, [], 1, claim_id)
    complete(ClaimRef(done.pk, claim_id))
    waiting = make_job()
    assert claim(worker, [], 1, claim_id) == []
    assert reload(waiting).claim_id is None
    assert [job.id for job in claim(worker, [], 1, uuid4())] == [waiting.pk]


def test_the_repeated_call_charges_nothing_and_renews_the_lease():
    ref = claimed(worker := make_worker())
    age(60)
    before = reload(ref)
    claim(worker, [], 1, ref.claim_id)
    after = reload(ref)
    assert after.attempt == 1
    assert before.lease_expires_at
    assert after.lease_expires_at
    assert after.lease_expires_at > before.lease_expires_at


def test_a_call_that_found_nothing_may_be_repeated_until_it_finds_something():
    worker, claim_id = make_worker(), uuid4()
    assert claim(worker, [], 1, claim_id) == []
    job = make_job()
    assert [each.id for each in claim(worker, [], 1, claim_id)] == [job.pk]


def test_another_worker_cannot_use_the_id():
    ref = claimed(make_worker())
    make_job()
    assert claim(make_worker(), [], 1, ref.claim_id) == []


@pytest.mark.parametrize(("minutes", "forgotten"), [(55, False), (65, True)])
def test_used_ids_are_forgotten_after_an_hour_but_not_before(minutes, forgotten):
    ref = claimed(worker := make_worker())
    complete(ref)
    make_job()
    age(minutes * 60)
    reap_once()
    heartbeat(worker.pk)
    assert bool(claim(worker, [], 1, ref.claim_id)) is forgotten


def test_what_earlier_attempts_left_is_handed_over():
    ref = claimed(worker := make_worker())
    phases = [
        PhaseReport("probe", 0, PhaseStatus.COMPLETED, 100, result={"s": 9}),
        PhaseReport("encode", 1, PhaseStatus.RUNNING, 40),
    ]
    qualities = [QualityReport("720p", QualityStatus.COMPLETED), QualityReport("1080p", QualityStatus.IN_PROGRESS)]
    report(Report(ref, progress=70, phases=phases, qualities=qualities, checkpoint={"at": 3}))
    release(ref, "the worker stops")
    [got] = claim(worker)
    assert got.checkpoint == {"at": 3}
    assert got.phase_results == {"probe": {"s": 9}}
    assert list(got.completed_qualities) == ["720p"]
