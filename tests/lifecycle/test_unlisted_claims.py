"""Claims that their worker does not list: the answer to the claim call was lost, so nobody works on them."""

from datetime import timedelta
from uuid import uuid4

import pytest

from jobs.db import Now
from jobs.handlers.base import ClaimRef, Report
from jobs.lifecycle import fence
from jobs.lifecycle.claim import claim
from jobs.lifecycle.finish import release
from jobs.lifecycle.heartbeat import heartbeat
from jobs.lifecycle.reap import reap_once
from jobs.lifecycle.report import report
from jobs.lifecycle.start import start
from jobs.models import Job
from jobs.states import Status
from tests.factories import claimed, events_of, make_job, make_worker, reload


def test_one_beat_that_does_not_list_a_claim_is_forgiven():
    ref = claimed(worker := make_worker())
    heartbeat(worker.pk)
    reap_once()
    assert reload(ref).status == Status.RUNNING


def test_a_claim_that_two_successive_beats_do_not_list_goes_back_uncharged():
    ref = claimed(worker := make_worker())
    heartbeat(worker.pk)
    heartbeat(worker.pk)
    result = reap_once()
    job = reload(ref)
    assert (job.status, job.attempt, job.crashes) == (Status.PENDING, 0, 0)
    assert result.released == [ref.job_id]
    assert events_of(ref)[-1] == "reaped"
    assert [each.id for each in claim(worker)] == [ref.job_id]


def test_beats_that_do_not_list_a_claim_must_be_successive():
    ref = claimed(worker := make_worker())
    for listed in ((), [ref], ()):
        heartbeat(worker.pk, listed)
    reap_once()
    assert reload(ref).status == Status.RUNNING


def test_beats_of_an_earlier_claim_do_not_count_against_the_next():
    old = claimed(worker := make_worker())
    heartbeat(worker.pk)
    release(old, "not now")
    new = claimed(worker, reload(old))
    heartbeat(worker.pk)
    reap_once()
    assert reload(new).unlisted_beats == 1
    assert reload(new).status == Status.RUNNING


def test_the_beats_of_one_worker_do_not_count_against_another():
    ref = claimed(make_worker("holder"))
    other = make_worker("other")
    for _ in range(3):
        heartbeat(other.pk)
    reap_once()
    assert reload(ref).status == Status.RUNNING


def test_naming_a_job_by_a_wrong_claim_is_not_listing_it():
    ref = claimed(worker := make_worker())
    for _ in range(2):
        heartbeat(worker.pk, [ClaimRef(ref.job_id, uuid4())])
    reap_once()
    assert reload(ref).status == Status.PENDING


@pytest.mark.parametrize("word", [start, lambda ref: report(Report(ref, progress=1))])
@pytest.mark.parametrize("started", [True, False])
def test_a_word_of_its_worker_between_two_beats_proves_that_the_claim_is_known(word, started):
    ref = claimed(worker := make_worker(), start=started)
    heartbeat(worker.pk)
    word(ref)
    heartbeat(worker.pk)
    reap_once()
    assert (reload(ref).status, reload(ref).unlisted_beats) == (Status.RUNNING, 1)


def test_beats_of_a_worker_that_awaits_the_answer_to_a_claim_count_against_none():
    ref, listed = claimed(worker := make_worker(slots=5)), claimed(worker)
    for _ in range(3):
        heartbeat(worker.pk, [listed], lists_all=False)
    reap_once()
    assert (reload(ref).status, reload(ref).unlisted_beats) == (Status.RUNNING, 0)


def test_a_claim_that_is_repeated_is_known_from_then_on_and_its_lease_begins_anew():
    make_job()
    worker, call = make_worker(), uuid4()
    (job,) = claim(worker, claim_id=call)
    for _ in range(2):
        heartbeat(worker.pk)
    Job.objects.update(lease_expires_at=Now() - timedelta(seconds=1))
    assert claim(worker, claim_id=call) == [job]
    reap_once()
    again = reload(job.id)
    assert (again.status, again.unlisted_beats) == (Status.RUNNING, 0)
    fence.verify(job.claim)
