"""Start: the mark that makes a claim an execution."""

from uuid import uuid4

import pytest

from jobs.exceptions import Cancelled, ClaimExpired, ClaimLost
from jobs.handlers.base import ClaimRef
from jobs.lifecycle.cancel import cancel
from jobs.lifecycle.finish import release
from jobs.lifecycle.start import start
from jobs.models import JobEvent
from tests.factories import age, claimed, events_of, reload


def test_starting_charges_one_attempt_and_says_so():
    ref = claimed(start=False)
    assert start(ref) == 1
    job = reload(ref)
    assert (job.attempt, job.started_at is None) == (1, False)
    assert events_of(ref) == ["enqueued", "claimed", "started"]
    assert JobEvent.objects.get(name="started").attempt == 1


def test_starting_twice_charges_once():
    ref = claimed(start=False)
    assert [start(ref), start(ref)] == [1, 1]
    assert reload(ref).attempt == 1
    assert events_of(ref).count("started") == 1


def test_starting_what_the_claim_started_charges_nothing_more():
    ref = claimed()
    assert start(ref) == 1
    assert reload(ref).attempt == 1


def test_starting_renews_the_lease():
    ref = claimed(start=False)
    age(100)
    start(ref)
    age(100)
    release(ref, "its lease still holds")


def test_a_job_cancelled_meanwhile_does_not_start():
    ref = claimed(start=False)
    cancel(ref.job_id)
    with pytest.raises(Cancelled):
        start(ref)
    assert (reload(ref).attempt, reload(ref).started_at) == (0, None)


def test_a_claim_that_does_not_hold_cannot_start():
    ref = claimed(start=False)
    with pytest.raises(ClaimLost):
        start(ClaimRef(ref.job_id, uuid4()))
    age(121)
    with pytest.raises(ClaimExpired):
        start(ref)
    assert reload(ref).attempt == 0
