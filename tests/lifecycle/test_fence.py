"""The fence: every write of a worker needs the right job, the right claim, a running job and a lease that holds."""

from collections.abc import Callable
from uuid import uuid4

import pytest

from jobs.exceptions import ClaimError, ClaimExpired, ClaimLost
from jobs.handlers.base import ClaimRef, Outcome, Report
from jobs.lifecycle.cancel import cancel
from jobs.lifecycle.clear import clear
from jobs.lifecycle.fence import verify
from jobs.lifecycle.finish import complete, fail, finish, finish_one, release
from jobs.lifecycle.heartbeat import heartbeat
from jobs.lifecycle.reap import reap_once
from jobs.lifecycle.report import report
from jobs.lifecycle.retry import requeue
from jobs.lifecycle.start import start
from jobs.models import Job, JobEvent
from tests.factories import age, claimed, make_worker, reload

Write = Callable[[ClaimRef], object]
WRITES: dict[str, Write] = {
    "complete": complete,
    "fail": lambda claim: fail(claim, "broken"),
    "release": lambda claim: release(claim, "not now"),
    "cancelled": lambda claim: finish_one(Outcome.cancelled(claim)),
    "report": lambda claim: report(Report(claim, progress=50)),
    "start": start,
    "verify": verify,
}
writes = pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)


def everything() -> tuple[object, object]:
    """All that a write could change: the job rows and their history."""
    return list(Job.objects.order_by("id").values()), list(JobEvent.objects.order_by("id").values())


def assert_refused(write: Write, claim: ClaimRef, why: type[ClaimError]) -> None:
    before = everything()
    with pytest.raises(why, match=f"job {claim.job_id} "):
        write(claim)
    assert everything() == before


@writes
def test_a_holder_may_write(write):
    write(claimed())


@writes
def test_a_wrong_claim_id_is_lost(write):
    ref = claimed()
    assert_refused(write, ClaimRef(ref.job_id, uuid4()), ClaimLost)


@writes
def test_the_claim_id_of_another_running_job_is_lost(write):
    worker = make_worker(slots=2)
    mine, other = claimed(worker), claimed(worker)
    assert_refused(write, ClaimRef(mine.job_id, other.claim_id), ClaimLost)


@writes
def test_a_job_that_is_gone_is_lost(write):
    ref = claimed()
    complete(ref)
    clear(ref.job_id)
    assert_refused(write, ref, ClaimLost)


@writes
def test_an_expired_lease_refuses_until_a_heartbeat_renews_it(write):
    ref = claimed(worker := make_worker())
    age(121)
    assert_refused(write, ref, ClaimExpired)
    heartbeat(worker.pk, [ref])
    write(ref)


@writes
def test_a_lease_that_is_not_over_holds(write):
    ref = claimed()
    age(117)
    write(ref)


@writes
def test_a_reaped_claim_is_lost_while_the_job_waits(write):
    ref = claimed()
    age(1000)
    reap_once()
    assert_refused(write, ref, ClaimLost)


@writes
def test_the_old_claim_is_lost_when_the_same_worker_has_claimed_the_job_again(write):
    worker = make_worker()
    old = claimed(worker)
    age(1000)
    reap_once()
    heartbeat(worker.pk)
    new = claimed(worker, reload(old))
    assert_refused(write, old, ClaimLost)
    write(new)


@pytest.mark.parametrize("name", ["report", "start", "verify"])
def test_a_claim_that_was_finished_can_write_no_more(name):
    ref = claimed()
    complete(ref)
    assert_refused(WRITES[name], ref, ClaimLost)


def test_a_lost_claim_cannot_finish_what_was_requeued_and_claimed_by_another():
    old = claimed(make_worker())
    age(1000)
    reap_once()
    cancel(old.job_id)
    requeue(old.job_id)
    claimed(make_worker(), reload(old))
    assert_refused(complete, old, ClaimLost)


def test_in_a_batch_each_claim_is_judged_on_its_own():
    worker = make_worker(slots=3)
    good, other = claimed(worker), claimed(worker)
    crossed = ClaimRef(other.job_id, good.claim_id)
    answers = finish([Outcome.completed(good), Outcome.completed(crossed)])
    assert answers[0].status == "completed"
    assert isinstance(answers[1].refused, ClaimLost)
    assert reload(other).status == "running"


@pytest.mark.parametrize(("error", "code"), [(ClaimExpired, "claim_expired"), (ClaimLost, "claim_lost")])
def test_the_two_refusals_are_told_apart_by_code(error, code):
    assert error(job_id=1).code == code


def test_claims_crossed_both_ways_in_a_batch_finish_nothing():
    """Each job and each claim of the batch is held, but not that claim on that job."""
    one, two = claimed(make_worker()), claimed(make_worker())
    crossed = [ClaimRef(one.job_id, two.claim_id), ClaimRef(two.job_id, one.claim_id)]
    answers = finish([Outcome.completed(ref) for ref in crossed])
    assert [type(answer.refused) for answer in answers] == [ClaimLost, ClaimLost]
    assert [reload(ref).status for ref in (one, two)] == ["running", "running"]
