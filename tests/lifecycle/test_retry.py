"""Retry and requeue: a person asks for ended jobs to run again; conflicts are told per job."""

import pytest

from jobs.handlers.base import PhaseReport, QualityReport, Report
from jobs.lifecycle.by_batch import DUPLICATE
from jobs.lifecycle.cancel import cancel
from jobs.lifecycle.finish import complete, fail
from jobs.lifecycle.prune import prune_once
from jobs.lifecycle.reap import reap_once
from jobs.lifecycle.report import report
from jobs.lifecycle.retry import NOT_ENDED, NOT_RETRYABLE, requeue, retry
from jobs.models import Job, JobEvent, PhaseProgress, QualityProgress
from jobs.states import PhaseStatus, QualityStatus, Status
from tests.factories import age, claimed, events_of, job_in, make_job, reload


@pytest.mark.parametrize("status", [Status.FAILED, Status.CANCELLED])
def test_retry_makes_a_failed_or_cancelled_job_pending_and_due(status):
    job = job_in(status)
    assert retry(job.pk, "the disk is back").moved == [job.pk]
    again = reload(job)
    assert (again.status, again.attempt, again.finished_at, again.last_error) == (Status.PENDING, 0, None, "")
    assert JobEvent.objects.get(name="requeued").reason == "the disk is back"
    claimed(job=again)


@pytest.mark.parametrize("status", [Status.PENDING, Status.RUNNING, Status.COMPLETED])
def test_retry_skips_every_other_job_and_says_why(status):
    job = job_in(status)
    result = retry(job.pk)
    assert (result.moved, result.skipped) == ([], {job.pk: NOT_RETRYABLE})
    assert reload(job).status == status


@pytest.mark.parametrize("status", [Status.COMPLETED, Status.FAILED, Status.CANCELLED])
def test_requeue_takes_completed_jobs_too(status):
    job = job_in(status)
    assert requeue(job.pk).moved == [job.pk]
    assert reload(job).status == Status.PENDING


@pytest.mark.parametrize("status", [Status.PENDING, Status.RUNNING])
def test_requeue_skips_active_jobs(status):
    job = job_in(status)
    before = Job.objects.values().get()
    assert requeue(job.pk).skipped == {job.pk: NOT_ENDED}
    assert Job.objects.values().get() == before


def test_a_retried_job_is_no_longer_cancelled():
    ref = claimed()
    cancel(ref.job_id)
    fail(ref, "stopped")
    retry(ref.job_id)
    assert reload(ref).cancel_requested_at is None
    assert fail(claimed(job=reload(ref)), "broken").status == Status.PENDING


def run_with_parts() -> int:
    """A failed job with one crash behind it, completed and unfinished parts, a checkpoint."""
    ref = claimed()
    age(1000)
    reap_once()
    ref = claimed(job=reload(ref))
    phases = [PhaseReport("probe", 0, PhaseStatus.COMPLETED, 100), PhaseReport("encode", 1, PhaseStatus.RUNNING, 50)]
    qualities = [
        QualityReport("1080p", QualityStatus.COMPLETED, 100),
        QualityReport("720p", QualityStatus.IN_PROGRESS, 40, 10, 4),
        QualityReport("2160p", QualityStatus.SKIPPED),
    ]
    report(Report(ref, progress=60, step="encode", phases=phases, qualities=qualities, checkpoint={"at": 3}))
    fail(ref, "broken", fatal=True)
    return ref.job_id


def states_of(parts: type[PhaseProgress] | type[QualityProgress]) -> dict[str, tuple[str, int]]:
    rows = parts._default_manager.values_list("name", "status", "progress")
    return {name: (status, progress) for name, status, progress in rows}


def test_retry_keeps_what_was_completed_and_reopens_the_rest():
    job_id = run_with_parts()
    retry(job_id)
    job = reload(job_id)
    assert (job.checkpoint, job.progress, job.step) == ({"at": 3}, 60, "")
    assert states_of(PhaseProgress) == {"probe": ("completed", 100), "encode": ("pending", 0)}
    assert states_of(QualityProgress) == {"1080p": ("completed", 100), "720p": ("pending", 0), "2160p": ("skipped", 0)}


def test_retry_can_be_told_not_to_keep_completed_qualities(settings):
    settings.JOBS_KEEP_COMPLETED_QUALITIES = False
    retry(run_with_parts())
    assert states_of(QualityProgress) == {"1080p": ("pending", 0), "720p": ("pending", 0), "2160p": ("skipped", 0)}


def test_requeue_starts_from_nothing():
    job_id = run_with_parts()
    requeue(job_id)
    job = reload(job_id)
    assert (job.checkpoint, job.progress, job.step, job.result) == (None, 0, "", None)
    assert (job.attempt, job.crashes, job.last_error) == (0, 0, "")
    assert not PhaseProgress.objects.exists()
    assert not QualityProgress.objects.exists()


def test_a_retry_that_meets_an_active_duplicate_is_told_and_the_rest_go_on():
    free, taken, also_free = (job_in(Status.FAILED, dedupe_key=key) for key in ("a", "b", "c"))
    active = make_job(dedupe_key="b")
    result = retry([also_free.pk, taken.pk, free.pk])
    assert sorted(result.moved) == [free.pk, also_free.pk]
    assert result.skipped == {taken.pk: DUPLICATE}
    assert (reload(taken).status, reload(active).status) == (Status.FAILED, Status.PENDING)
    assert "requeued" not in events_of(taken)


def test_of_two_failed_jobs_with_one_key_one_is_retried():
    first, second = (job_in(Status.FAILED, dedupe_key="k") for _ in range(2))
    result = retry([first.pk, second.pk])
    assert (result.moved, result.skipped) == ([first.pk], {second.pk: DUPLICATE})


def test_many_are_retried_by_filter():
    mine = job_in(Status.FAILED, scope="mine")
    other = job_in(Status.FAILED, scope="other")
    done = job_in(Status.COMPLETED, scope="mine")
    result = retry(Job.objects.filter(scope="mine"))
    assert (result.moved, result.skipped) == ([mine.pk], {done.pk: NOT_RETRYABLE})
    assert reload(other).status == Status.FAILED


def test_a_stale_job_that_is_retried_is_not_deleted_with_the_stale_ones():
    job = job_in(Status.FAILED)
    age(91 * 86_400)
    prune_once()
    retry(job.pk)
    assert reload(job).stale_at is None
    age(8 * 86_400)
    assert prune_once().deleted == 0


def test_a_requeued_job_can_complete_again():
    ref = claimed()
    complete(ref, 1)
    requeue(ref.job_id)
    complete(claimed(job=reload(ref)), 2)
    assert reload(ref).result == 2
    assert events_of(ref).count("completed") == 2
