"""A crash that the worker lives to tell of counts as one that the reaper finds."""

from jobs.handlers.base import ClaimRef, Outcome
from jobs.lifecycle.cancel import cancel
from jobs.lifecycle.claim import claim
from jobs.lifecycle.finish import finish, finish_one
from jobs.models import JobEvent
from jobs.states import Status
from tests.factories import age, claimed, events_of, make_job, make_worker, reload

KILLED = "The process that ran it was killed by signal 11."


def crash(ref: ClaimRef) -> Status | None:
    return finish_one(Outcome.crashed(ref, KILLED)).status


def test_the_first_time_it_is_due_again_at_once():
    ref = claimed(backoff="fixed:60")
    assert crash(ref) == Status.PENDING
    job = reload(ref)
    assert (job.status, job.hold, job.attempt, job.crashes, job.last_error) == (Status.PENDING, "", 1, 1, KILLED)
    event = JobEvent.objects.get(name="reaped")
    assert (event.claim_id, event.attempt, event.outcome, event.reason) == (ref.claim_id, 1, "pending", KILLED)


def test_the_next_time_it_waits():
    job, worker = make_job(backoff="fixed:60"), make_worker()
    crash(claimed(worker, job))
    crash(claimed(worker, job))
    assert (reload(job).hold, reload(job).crashes) == ("scheduled", 2)
    assert not claim(worker)
    age(61)
    assert [again.attempt for again in claim(worker)] == [3]


def test_with_its_attempts_used_up_it_has_failed():
    ref = claimed(max_attempts=1)
    assert crash(ref) == Status.FAILED
    job = reload(ref)
    assert (job.attempt, job.crashes, job.last_error) == (1, 1, KILLED)
    assert events_of(ref)[-1] == "failed"


def test_a_cancel_request_wins():
    ref = claimed()
    cancel(ref.job_id)
    assert crash(ref) == Status.CANCELLED
    assert (reload(ref).crashes, reload(ref).last_error) == (0, KILLED)


def test_what_merely_waited_in_that_process_is_not_charged():
    ref = claimed(start=False)
    assert crash(ref) == Status.PENDING
    job = reload(ref)
    assert (job.attempt, job.crashes, job.last_error) == (0, 0, "")
    assert events_of(ref)[-1] == "reaped"


def test_told_twice_it_is_charged_once():
    ref = claimed()
    crash(ref)
    answer = finish_one(Outcome.crashed(ref, KILLED))
    assert (answer.status, answer.repeated, reload(ref).crashes) == (Status.PENDING, True, 1)


def test_a_batch_of_them_is_written_together_with_others():
    worker = make_worker(slots=3)
    for _ in range(3):
        make_job()
    first, second, third = [job.claim for job in claim(worker, limit=3)]
    answers = finish([Outcome.crashed(first, KILLED), Outcome.completed(second), Outcome.crashed(third, KILLED)])
    assert [answer.status for answer in answers] == [Status.PENDING, Status.COMPLETED, Status.PENDING]
    assert [reload(ref).crashes for ref in (first, second, third)] == [1, 0, 1]
