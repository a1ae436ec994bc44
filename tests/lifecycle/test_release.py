"""Release: a job handed back unfinished keeps its attempt."""

import pytest

from jobs.lifecycle.cancel import cancel
from jobs.lifecycle.finish import release
from jobs.models import JobEvent
from jobs.states import Hold, Status
from tests.factories import claimed, events_of, make_worker, reload


@pytest.mark.parametrize("start", [True, False])
def test_a_released_job_is_due_at_once_and_not_charged(start):
    ref = claimed(start=start)
    assert release(ref, "the worker stops").status == Status.PENDING
    job = reload(ref)
    assert (job.status, job.hold, job.attempt, job.crashes) == (Status.PENDING, Hold.NONE, 0, 0)
    assert (job.claim_id, job.worker_id, job.last_error) == (None, None, "")


def test_it_can_be_released_more_often_than_it_has_attempts():
    ref = claimed(max_attempts=1)
    for _ in range(3):
        release(ref, "not now")
        ref = claimed(job=reload(ref))
    assert reload(ref).attempt == 1


def test_the_event_says_who_released_it_and_why():
    ref = claimed(make_worker("w1"))
    release(ref, "the worker stops")
    event = JobEvent.objects.get(name="released")
    assert (event.worker_name, event.reason, event.outcome) == ("w1", "the worker stops", "pending")
    assert (event.claim_id, event.attempt) == (ref.claim_id, 1)


def test_a_job_with_a_cancel_request_is_cancelled_instead():
    ref = claimed()
    cancel(ref.job_id)
    assert release(ref, "the worker stops").status == Status.CANCELLED
    assert events_of(ref) == ["enqueued", "claimed", "cancel_requested", "cancelled"]
