"""`cancel_jobs`: what waits is cancelled, what runs is asked to stop."""

import pytest

from jobs.models import JobEvent
from jobs.states import Status
from tests.commands.calls import refused, run, run_json
from tests.factories import age, claimed, job_in, make_job, reload

pytestmark = pytest.mark.django_db


def test_a_pending_job_is_cancelled_and_a_running_one_is_asked():
    ref = claimed()
    pending = make_job()
    assert run("cancel_jobs", pending.pk, ref.job_id) == (
        f"Cancelled: 1 job ({pending.pk}).\nAsked to stop: 1 job ({ref.job_id}).\n"
    )
    assert reload(pending).status == Status.CANCELLED
    assert reload(ref).cancel_requested_at is not None


def test_a_named_job_that_has_ended_fails_the_command():
    done, pending = job_in(Status.COMPLETED), make_job()
    refusal = refused("cancel_jobs", done.pk, pending.pk)
    assert (refusal.code, reload(pending).status) == (1, Status.CANCELLED)
    assert f"job {done.pk}, because it has ended, or was asked to stop before" in refusal.printed


def test_a_filter_takes_pending_and_running_jobs_and_skips_none():
    job_in(Status.COMPLETED, queue="media")
    ref, pending, other = claimed(queue="media"), make_job(queue="media"), make_job(queue="slow")
    assert run_json("cancel_jobs", "--queue", "media") == {
        "cancelled": [pending.pk],
        "requested": [ref.job_id],
        "skipped": {},
    }
    assert reload(other).status == Status.PENDING


def test_a_filter_by_state_finds_what_hangs():
    stalled = claimed(queue="media")
    age(601)
    fresh = claimed(queue="slow")
    run("cancel_jobs", "--state", "stalled", "--state", "expired")
    assert reload(stalled).cancel_requested_at is not None
    assert reload(fresh).cancel_requested_at is None


def test_the_reason_is_in_the_history():
    job = make_job()
    run("cancel_jobs", job.pk, "--reason", "wrong file")
    assert JobEvent.objects.filter(job_id=job.pk).latest("id").reason == "wrong file"
