"""The one guarded transition: only allowed moves, row, count and event together."""

import pytest
from django.db import transaction

from jobs.handlers.base import Outcome
from jobs.lifecycle.cancel import cancel
from jobs.lifecycle.claim import claim
from jobs.lifecycle.finish import finish_one, release
from jobs.lifecycle.transition import MovedMeanwhile, TransitionRefused, lock, move
from jobs.models import Job, JobEvent
from jobs.states import TRANSITIONS, EventName, Status
from tests.factories import claimed, events_of, job_in, make_job, make_worker, reload

REFUSED = [(here, there) for here in Status for there in Status if there not in TRANSITIONS[here]]


@pytest.mark.parametrize(("here", "there"), REFUSED)
def test_a_move_that_is_not_allowed_is_refused_and_changes_nothing(here, there):
    job = job_in(here)
    before = Job.objects.values().get(), JobEvent.objects.count()
    with pytest.raises(TransitionRefused, match=f"Job {job.pk} is {here} and cannot become {there}"):
        move([job], there, EventName.REQUEUED)
    assert (Job.objects.values().get(), JobEvent.objects.count()) == before


def test_one_job_that_may_not_move_keeps_all_of_them():
    pending, done = make_job(queue="a"), job_in(Status.COMPLETED, queue="b")
    with pytest.raises(TransitionRefused):
        move([pending, done], Status.CANCELLED, EventName.CANCELLED)
    assert reload(pending).status == Status.PENDING


@pytest.mark.parametrize(
    "here", [here for here in Status if Status.PENDING in TRANSITIONS[here] and here != Status.PENDING]
)
def test_back_to_pending_clears_the_claim_and_the_end(here):
    job = job_in(here)
    move(lock(Job.objects.all()), Status.PENDING, EventName.REQUEUED, reason="again")
    job = reload(job)
    assert (job.claim_id, job.worker_id, job.lease_expires_at, job.claimed_at) == (None, None, None, None)
    assert (job.finished_at, job.stale_at, job.hold) == (None, None, "")
    assert events_of(job)[-1] == "requeued"


def test_every_job_moved_has_its_own_event():
    jobs = [make_job(), make_job()]
    move(lock(Job.objects.all()), Status.CANCELLED, EventName.CANCELLED, reason="both")
    events = JobEvent.objects.filter(name="cancelled", reason="both")
    assert list(events.order_by("job_id").values_list("job_id", flat=True)) == [job.pk for job in jobs]


def test_no_jobs_is_no_move():
    move([], Status.CANCELLED, EventName.CANCELLED)
    assert not JobEvent.objects.exists()


def test_rows_are_locked_in_the_order_of_their_ids_and_no_more_than_asked():
    jobs = [make_job(priority=priority) for priority in (0, 9, 5)]
    assert lock(Job.objects.order_by("-priority")) == jobs
    assert lock(Job.objects.all(), limit=2) == jobs[:2]


def test_a_row_that_changed_since_it_was_locked_is_not_moved():
    job, other = make_job(), make_job()
    held = lock(Job.objects.all())
    cancel(job.pk)
    with pytest.raises(MovedMeanwhile, match=rf"Of the jobs \[{job.pk}, {other.pk}\], 1 changed"), transaction.atomic():
        move(held, Status.CANCELLED, EventName.CANCELLED, reason="again")
    assert (reload(job).status, reload(other).status) == (Status.CANCELLED, Status.PENDING)
    assert not JobEvent.objects.filter(reason="again").exists()


def test_a_claim_that_was_ended_and_taken_again_since_is_not_moved():
    ref = claimed(worker := make_worker())
    [held] = lock(Job.objects.all())
    release(ref, "not now")
    [again] = claim(worker)
    with pytest.raises(MovedMeanwhile), transaction.atomic():
        move([held], Status.COMPLETED, EventName.COMPLETED)
    assert (reload(ref).status, reload(ref).claim_id) == (Status.RUNNING, again.claim.claim_id)


@pytest.mark.parametrize("ending", [Outcome.completed, lambda ref: Outcome.released(ref, "not now")])
def test_a_hook_that_ends_its_own_claim_is_undone_and_the_attempt_fails(kind, ending):
    ref = claimed(kind=kind.name)

    def end_itself(job, result):
        kind.on_complete = None
        finish_one(ending(ref))

    kind.on_complete = end_itself
    assert finish_one(Outcome.completed(ref)).status == Status.PENDING
    job = reload(ref)
    assert (job.status, job.attempt) == (Status.PENDING, 1)
    assert "a hook must not end, cancel or retry its own job" in job.last_error
    assert events_of(ref) == ["enqueued", "claimed", "retrying"]
