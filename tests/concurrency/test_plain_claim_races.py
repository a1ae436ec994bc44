"""A job changes after the one statement of a plain claim has begun, and before it comes to its row."""

from collections.abc import Callable
from uuid import uuid4

import pytest

from jobs.lifecycle import plain_claim
from jobs.lifecycle.cancel import cancel
from jobs.lifecycle.claim import claim
from jobs.lifecycle.move_to_queue import move_to_queue
from jobs.lifecycle.plain_claim import take_plainly
from jobs.lifecycle.prioritise import set_priority
from jobs.models import Job
from jobs.states import Status
from tests.concurrency.threads import Running, scalar, wait_until
from tests.factories import events_of, kept_counts, make_job, make_worker, real_counts, reload

pytestmark = [pytest.mark.postgres, pytest.mark.django_db(transaction=True)]
KEY = 77_000_123
HELD_UP = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND objid = %s AND NOT granted"


@pytest.fixture(autouse=True)
def _held_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """The statement waits for a lock of the test's once it knows its queue: what it sees is decided by then."""
    built = plain_claim.taking.__wrapped__(True, False, False, False)  # type: ignore[attr-defined]  # what is built once
    waits = f"SELECT name FROM pg_advisory_xact_lock_shared({KEY}), unnest("
    held_up = plain_claim.Statement(
        built.sql.replace("SELECT name FROM unnest(", waits), built.parameters, built.converters
    )
    assert waits in held_up.sql
    monkeypatch.setattr(plain_claim, "taking", lambda *shape: held_up)


def taken_while(change: Callable[[], object]) -> list[int]:
    worker = make_worker(slots=5)
    scalar("SELECT pg_advisory_lock(%s)", KEY)
    try:
        claiming = Running(lambda: [job.id for job in take_plainly(worker, ["default"], 5, uuid4(), (), ())])
        wait_until(lambda: scalar(HELD_UP, KEY) == 1)
        change()
    finally:
        scalar("SELECT pg_advisory_unlock(%s)", KEY)
    return claiming.result()


@pytest.mark.parametrize(
    "change",
    [
        cancel,
        lambda pk: move_to_queue([pk], "elsewhere"),
        lambda pk: claim(make_worker("faster"), ["default"]),
    ],
    ids=["cancelled", "moved", "claimed"],
)
def test_what_is_no_longer_there_is_not_taken(change):
    job = make_job()
    assert taken_while(lambda: change(job.pk)) == []
    assert reload(job).last_worker_name != "worker"
    assert kept_counts() == real_counts()


def test_what_is_not_plain_any_more_is_left_with_all_others():
    first, second = make_job(), make_job()
    assert taken_while(lambda: Job.objects.filter(pk=first.pk).update(crashes=1)) == []
    assert [reload(job).status for job in (first, second)] == [Status.PENDING] * 2


def test_what_is_still_there_is_taken_as_it_is_now():
    job, other = make_job(), make_job()
    assert sorted(taken_while(lambda: set_priority([job.pk], 50))) == [job.pk, other.pk]
    assert (reload(job).status, reload(job).attempt, reload(job).priority) == (Status.RUNNING, 1, 50)
    assert events_of(job)[-1] == "claimed"
    assert kept_counts() == real_counts()
