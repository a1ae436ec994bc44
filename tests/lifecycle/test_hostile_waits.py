"""However long a handler asks to wait, its outcome is recorded."""

import pytest

from jobs.lifecycle.finish import fail
from jobs.states import Hold, Status
from tests.factories import claimed, reload

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("seconds", [3e11, 1e15, 1e300])
def test_an_endless_retry_after_is_shortened(seconds):
    claim = claimed()
    assert fail(claim, "later", retry_after=seconds).status == Status.PENDING
    assert reload(claim.job_id).hold == Hold.SCHEDULED


def test_an_endless_backoff_is_shortened():
    claim = claimed(backoff="exponential:1e300:1e301")
    assert fail(claim, "later").status == Status.PENDING


def test_a_failure_of_what_was_never_marked_as_started_is_charged():
    claim = claimed(start=False, max_attempts=1)
    assert fail(claim, "it ran all the same").status == Status.FAILED
    assert reload(claim.job_id).attempt == 1
