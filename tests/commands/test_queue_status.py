"""`queue_status`: how deep the queues are, and who holds what."""

from datetime import UTC, datetime

import pytest

from jobs.handlers.base import QualityReport, Report
from jobs.lifecycle.queues import pause
from jobs.lifecycle.report import report
from jobs.lifecycle.workers import sign_off
from jobs.models import Worker
from jobs.states import QualityStatus, Status
from tests.commands.calls import run, run_json
from tests.factories import age, claimed, job_in, make_job, make_worker

pytestmark = pytest.mark.django_db

NONE = {"pending": 0, "scheduled": 0, "running": 0, "completed": 0, "failed": 0, "cancelled": 0}


def test_an_empty_yard_says_so():
    times = {"mean": None, "p50": None, "p95": None, "p99": None}
    figures = {"events": {}, "ended_per_minute": 0, "failure_rate": None, "waited": times, "ran": times}
    assert run_json("queue_status") == {
        "queues": {},
        "total": {**NONE, "oldest_pending_seconds": None},
        "limits": [],
        "workers": {"active": 0, "idle": 0, "busy": 0, "offline": 0, "disabled": 0},
        "slots": {"in_use": 0, "total": 0},
        "last_hour": figures,
        "last_day": figures,
        "attention": [],
    }
    shown = run("queue_status")
    assert shown.startswith("There are no jobs.")
    assert "Last hour: nothing ended" in shown


def test_the_document_is_the_documented_one():
    for status in (Status.COMPLETED, Status.FAILED, Status.CANCELLED):
        job_in(status, queue="media")
    make_job(queue="media", run_after=datetime(2100, 1, 1, tzinfo=UTC))
    make_job(queue="slow")
    age(60)
    claimed(queue="media")
    document = run_json("queue_status")
    assert list(document) == ["queues", "total", "limits", "workers", "slots", "last_hour", "last_day", "attention"]
    assert document["queues"]["media"] == {
        "pending": 0, "scheduled": 1, "running": 1, "completed": 1, "failed": 1, "cancelled": 1,
        "oldest_pending_seconds": None, "entered_per_minute": 0.5, "left_per_minute": 0.3, "seconds_to_empty": 0,
    }  # fmt: skip
    slow = document["queues"]["slow"]
    waiting = slow.pop("oldest_pending_seconds")
    assert slow == {
        **NONE, "pending": 1, "entered_per_minute": 0.1, "left_per_minute": 0, "seconds_to_empty": None,
    }  # fmt: skip
    assert document["last_hour"]["events"]["enqueued"] == 6
    assert document["last_hour"]["failure_rate"] == 0.5
    assert [concern["name"] for concern in document["attention"]] == ["no_claims", "job_failed"]
    assert 60 <= waiting < 90
    assert (document["total"]["pending"], document["total"]["running"]) == (1, 1)
    assert document["total"]["oldest_pending_seconds"] == pytest.approx(waiting, abs=1)
    assert document["workers"]["busy"] == 1


def test_the_table_has_the_same_numbers_and_marks_paused_queues():
    make_job(queue="media")
    pause("media")
    pause("empty")
    lines = [line.split() for line in run("queue_status").splitlines()]
    assert lines[0] == ["QUEUE", "PENDING", "SCHEDULED", "RUNNING", "COMPLETED", "FAILED", "CANCELLED", "OLDEST"]
    assert lines[1] == ["empty", "paused", "0", "0", "0", "0", "0", "0"]
    assert lines[2][:8] == ["media", "paused", "1", "0", "0", "0", "0", "0"]
    assert lines[3][:7] == ["total", "1", "0", "0", "0", "0", "0"]


def test_who_holds_what_is_shown_with_machine_process_time_and_lease():
    ref = claimed(make_worker("gpu-box"), subject="a film")
    report(Report(ref, progress=42))
    shown = run("queue_status")
    assert "Workers: 1 busy" in shown
    row = next(line.split() for line in shown.splitlines() if line.split()[:1] == [str(ref.job_id)])
    assert row[1:7] == ["test.noop", "a", "film", "claimed", "42", "0s"]
    assert row[8] in ("2m", "1m59s", "1m58s", "1m57s")
    assert "by gpu-box on elsewhere, pid 4711" in shown


def test_how_many_slots_are_in_use_tells_what_an_idle_worker_runs():
    claimed(make_worker("wide", slots=4))
    sign_off(make_worker("gone", slots=9).pk)
    assert "Workers: 1 idle, 1 offline; 1 of 4 slots in use" in run("queue_status")
    assert run_json("queue_status")["slots"] == {"in_use": 1, "total": 4}


def test_a_slot_is_used_once_however_many_jobs_wait_for_it():
    worker = make_worker("ahead", slots=1)
    claimed(worker), claimed(worker)
    assert "Workers: 1 busy; 1 of 1 slots in use" in run("queue_status")


def test_qualities_and_what_needs_attention_are_shown():
    ref = claimed(make_worker("gpu-box"), subject="a film")
    report(Report(ref, progress=42, qualities=(QualityReport("720p", status=QualityStatus.IN_PROGRESS, progress=61),)))
    job_in(Status.FAILED, queue="mail")
    make_job(queue="mail")
    shown = run("queue_status")
    assert "720p 61 %" in shown
    assert "! 1 job of mail failed. Read the errors, then retry or clear." in shown
    assert "mail: 0.2 in, 0.1 out / min, not getting shorter" in shown
    assert "Last hour: 1 ended (0.0 / min), 1 failed (100.0%), waited" in shown


def test_an_expired_lease_and_a_worker_without_a_row_are_shown_as_such():
    claimed(make_worker("gone"))
    Worker.objects.all().delete()
    age(300)
    shown = run("queue_status")
    assert "expired" in shown
    assert "over 3m" in shown
    assert "by gone, whose row is gone" in shown


def test_names_and_subjects_cannot_steer_the_terminal():
    claimed(make_worker("w\x1b[31m[red]"), subject="s\x1b]0;title\x07\n")
    shown = run("queue_status")
    assert "\x1b" not in shown
    assert r"by w\x1b[31m[red] on elsewhere" in shown
    assert r"s\x1b]0;title\x07\n" in shown
