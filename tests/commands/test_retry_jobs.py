"""`retry_jobs`: ended jobs run again."""

import pytest

from jobs.handlers.base import Outcome, Report
from jobs.lifecycle.finish import finish_one
from jobs.lifecycle.report import report
from jobs.models import JobEvent
from jobs.states import Status
from tests.commands.calls import refused, run, run_json
from tests.factories import age, claimed, job_in, make_job, reload

pytestmark = pytest.mark.django_db


def test_named_jobs_are_pending_again():
    failed, cancelled = job_in(Status.FAILED), job_in(Status.CANCELLED)
    assert run("retry_jobs", failed.pk, cancelled.pk) == f"Retried: 2 jobs ({failed.pk}, {cancelled.pk}).\n"
    assert {reload(failed).status, reload(cancelled).status} == {Status.PENDING}


def test_a_named_job_that_cannot_be_retried_fails_the_command_and_the_rest_goes_on():
    failed, completed = job_in(Status.FAILED), job_in(Status.COMPLETED)
    refusal = refused("retry_jobs", completed.pk, failed.pk, 999_999)
    assert refusal.code == 1
    assert refusal.sentence == f"2 of the 3 jobs you named were left alone: {completed.pk}, 999999."
    assert f"Left alone: job {completed.pk}, because it is not failed or cancelled." in refusal.printed
    assert "Left alone: job 999999, because there is no such job." in refusal.printed
    assert reload(failed).status == Status.PENDING


def test_a_filter_means_failed_jobs_unless_a_status_is_given():
    failed, cancelled = job_in(Status.FAILED, queue="media"), job_in(Status.CANCELLED, queue="media")
    other = job_in(Status.FAILED, queue="slow")
    assert run_json("retry_jobs", "--queue", "media") == {"retried": [failed.pk], "skipped": {}}
    assert run_json("retry_jobs", "--status", "cancelled") == {"retried": [cancelled.pk], "skipped": {}}
    assert run_json("retry_jobs", "--all-failed") == {"retried": [other.pk], "skipped": {}}


def test_all_failed_can_be_narrowed_by_age():
    old = job_in(Status.FAILED)
    age(3600)
    job_in(Status.FAILED)
    assert run_json("retry_jobs", "--all-failed", "--older-than", "30m")["retried"] == [old.pk]


def test_a_filter_that_matches_nothing_is_no_failure():
    assert run("retry_jobs", "--all-failed") == "Retried: no job.\n"


def test_an_active_duplicate_is_reported_and_the_others_go_on():
    failed, other = job_in(Status.FAILED, dedupe_key="k"), job_in(Status.FAILED)
    make_job(dedupe_key="k")
    assert run_json("retry_jobs", "--all-failed") == {
        "retried": [other.pk],
        "skipped": {str(failed.pk): "a job with the same dedupe key is pending or running"},
    }


def test_a_retry_keeps_the_checkpoint_and_from_start_forgets_it():
    ref = claimed()
    report(Report(ref, checkpoint={"at": 3}))
    finish_one(Outcome.failed(ref, "broken", fatal=True))
    run("retry_jobs", ref.job_id)
    assert reload(ref).checkpoint == {"at": 3}
    run("cancel_jobs", ref.job_id)
    run("retry_jobs", ref.job_id, "--from-start")
    assert reload(ref).checkpoint is None


def test_completed_jobs_run_again_only_from_the_start():
    done = job_in(Status.COMPLETED)
    refusal = refused("retry_jobs", "--status", "completed")
    assert (refusal.code, reload(done).status) == (2, Status.COMPLETED)
    assert "--from-start" in refusal.sentence
    assert run_json("retry_jobs", "--status", "completed", "--from-start")["retried"] == [done.pk]


def test_the_reason_is_in_the_history():
    failed = job_in(Status.FAILED)
    run("retry_jobs", failed.pk, "--reason", "the disk is back")
    assert JobEvent.objects.filter(job_id=failed.pk).latest("id").reason == "the disk is back"


def test_ids_and_a_filter_must_both_match():
    here, there = job_in(Status.FAILED, queue="media"), job_in(Status.FAILED, queue="slow")
    refusal = refused("retry_jobs", here.pk, there.pk, "--queue", "media")
    assert f"job {there.pk}, because there is no such job, or it does not match the filter" in refusal.printed
    assert (reload(here).status, reload(there).status) == (Status.PENDING, Status.FAILED)
