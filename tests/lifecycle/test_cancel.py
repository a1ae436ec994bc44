"""Cancel: pending jobs at once, running ones by request; what is cancelled never returns to pending by itself."""

from collections.abc import Callable
from datetime import timedelta

import pytest

from jobs.exceptions import InvalidInput
from jobs.handlers.base import ClaimRef, Outcome, PhaseReport, QualityReport, Report
from jobs.lifecycle.cancel import cancel
from jobs.lifecycle.finish import complete, fail, finish_one, release
from jobs.lifecycle.heartbeat import heartbeat
from jobs.lifecycle.reap import reap_once
from jobs.lifecycle.report import report
from jobs.models import Job, JobEvent, PhaseProgress, QualityProgress
from jobs.selectors.clock import database_now
from jobs.states import TERMINAL, Hold, PhaseStatus, QualityStatus, Status
from tests.factories import age, claimed, events_of, job_in, make_job, reload


def test_a_pending_job_is_cancelled_at_once():
    job = make_job()
    result = cancel(job.pk, "not needed")
    assert (result.cancelled, result.requested, result.skipped) == ([job.pk], [], [])
    job = reload(job)
    assert (job.status, job.finished_at is None) == (Status.CANCELLED, False)
    assert JobEvent.objects.get(name="cancelled").reason == "not needed"


def test_a_scheduled_job_is_cancelled_at_once():
    job = make_job(run_after=database_now() + timedelta(hours=1))
    cancel(job.pk)
    assert (reload(job).status, reload(job).hold) == (Status.CANCELLED, Hold.NONE)


def test_a_running_job_is_asked_to_stop_and_goes_on_until_it_does():
    ref = claimed()
    result = cancel(ref.job_id, "not needed")
    assert (result.cancelled, result.requested) == ([], [ref.job_id])
    job = reload(ref)
    assert (job.status, job.claim_id, job.cancel_requested_at is None) == (Status.RUNNING, ref.claim_id, False)
    assert JobEvent.objects.get(name="cancel_requested").reason == "not needed"
    report(Report(ref, progress=50))


@pytest.mark.parametrize("status", TERMINAL)
def test_a_job_that_has_ended_is_skipped(status):
    job = job_in(status)
    before = events_of(job)
    assert cancel(job.pk).skipped == [job.pk]
    assert (reload(job).status, events_of(job)) == (status, before)


def test_a_job_that_was_asked_before_is_skipped():
    ref = claimed()
    cancel(ref.job_id)
    asked = reload(ref).cancel_requested_at
    assert cancel(ref.job_id).skipped == [ref.job_id]
    assert reload(ref).cancel_requested_at == asked
    assert events_of(ref).count("cancel_requested") == 1


def test_many_are_cancelled_by_filter_and_missing_ones_are_skipped():
    mine, running = make_job(scope="mine"), claimed(scope="mine", queue="q")
    other = make_job(scope="other")
    result = cancel(Job.objects.filter(scope="mine"))
    assert (result.cancelled, result.requested) == ([mine.pk], [running.job_id])
    assert reload(other).status == Status.PENDING
    assert cancel([10**9]).skipped == [10**9]


@pytest.mark.parametrize("single", [True, False])
@pytest.mark.parametrize("no_id", ["1", "0) OR (1 = 1", 1.0, True, b"1", 2**63, None])
def test_what_is_no_id_is_refused_and_cancels_nothing(no_id, single):
    job = make_job()
    with pytest.raises(InvalidInput, match="names no jobs"):
        cancel(no_id if single else [job.pk, no_id])
    assert reload(job).status == Status.PENDING


def reaped_as_unlisted(ref: ClaimRef) -> None:
    worker_id = reload(ref).worker_id
    assert worker_id
    heartbeat(worker_id)
    heartbeat(worker_id)
    reap_once()


def reaped(ref: ClaimRef) -> None:
    age(10_000)
    reap_once()


ENDINGS: dict[str, Callable[[ClaimRef], object]] = {
    "stopped": lambda ref: finish_one(Outcome.cancelled(ref)),
    "failed": lambda ref: fail(ref, "broken"),
    "failed for good": lambda ref: fail(ref, "broken", fatal=True),
    "retry later": lambda ref: fail(ref, "later", retry_after=5, count=False),
    "released": lambda ref: release(ref, "the worker stops"),
    "reaped": reaped,
    "reaped as unlisted": reaped_as_unlisted,
}


@pytest.mark.parametrize("start", [True, False])
@pytest.mark.parametrize("end", ENDINGS.values(), ids=ENDINGS)
def test_a_job_with_a_cancel_request_is_cancelled_whatever_ends_its_claim(end, start):
    ref = claimed(start=start)
    cancel(ref.job_id)
    end(ref)
    assert reload(ref).status == Status.CANCELLED
    assert events_of(ref).count("cancelled") == 1
    cancel(ref.job_id)
    reap_once()
    assert events_of(ref)[-2:] == ["cancel_requested", "cancelled"]


def test_a_completion_stays_a_completion_though_a_cancel_was_requested():
    ref = claimed()
    cancel(ref.job_id)
    assert complete(ref, 1).status == Status.COMPLETED
    assert (reload(ref).status, reload(ref).result) == (Status.COMPLETED, 1)
    assert "cancelled" not in events_of(ref)


def test_a_workers_word_alone_cancels_nothing():
    ref = claimed()
    assert finish_one(Outcome.cancelled(ref)).status == Status.PENDING
    assert (reload(ref).status, reload(ref).attempt) == (Status.PENDING, 0)
    assert events_of(ref)[-1] == "released"


def test_unfinished_phases_and_qualities_become_cancelled():
    ref = claimed()
    phases = [PhaseReport(status, n, PhaseStatus(status)) for n, status in enumerate(PhaseStatus)]
    qualities = [QualityReport(status, QualityStatus(status)) for status in QualityStatus]
    report(Report(ref, phases=phases, qualities=qualities))
    cancel(ref.job_id)
    assert PhaseProgress.objects.get(name="running").status == "running"
    finish_one(Outcome.cancelled(ref))
    assert dict(PhaseProgress.objects.values_list("name", "status")) == {
        "pending": "cancelled",
        "running": "cancelled",
        "completed": "completed",
        "failed": "failed",
        "cancelled": "cancelled",
    }
    assert dict(QualityProgress.objects.values_list("name", "status")) == {
        "pending": "cancelled",
        "in_progress": "cancelled",
        "completed": "completed",
        "failed": "failed",
        "cancelled": "cancelled",
        "skipped": "skipped",
    }
