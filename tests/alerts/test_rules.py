"""Which events and concerns become alerts, and in which words. Pure."""

import pytest

from jobs.alerts.rules import from_concerns, from_events
from jobs.selectors.alerts import Happened
from jobs.selectors.concerns import Disk, Snapshot, concerns
from jobs.selectors.depth import Depth
from jobs.states import AlertName, EventName


def names(*events: Happened, failures: dict[tuple[str, str], int] | None = None) -> list[str]:
    return [raised.name.value for raised in from_events(events, failures or {})]


def failed(
    job_id: int = 1, *, left: int = 0, subject: str = "", error: str = "broken", queue: str = "media"
) -> Happened:
    return Happened(EventName.FAILED, "w", "", queue, job_id, "demo.kind", subject, left, error)


def reaped(job_id: int, queue: str = "media") -> Happened:
    return Happened(EventName.REAPED, "w", "its lease is over", queue, job_id, "demo.kind", attempts_left=1)


def test_jobs_that_were_taken_back_are_told_of_queue_by_queue():
    raised = from_events([reaped(number) for number in range(1, 6)] + [reaped(9, "mail")], {})
    assert [(each.name, each.key) for each in raised] == [
        (AlertName.STALE_JOB_RECOVERED, "media"), (AlertName.STALE_JOB_RECOVERED, "mail"),
    ]  # fmt: skip
    assert "5 jobs of media were taken back" in raised[0].text
    assert "1 (demo.kind), 2 (demo.kind), 3 (demo.kind) …" in raised[0].text
    assert raised[0].details == {"queue": "media", "jobs": [1, 2, 3], "number": 5}


def test_only_a_job_without_attempts_left_has_used_them_up():
    assert names(failed(left=1)) == []
    assert names(failed(left=0)) == ["job_max_retries_exceeded"]


@pytest.mark.parametrize(("number", "found"), [(1, []), (2, ["job_failed_pattern"]), (3, ["job_failed_pattern"])])
def test_a_subject_that_failed_again_is_a_pattern(number, found):
    event = failed(left=1, subject="cat.mp4")
    assert names(event, failures={("media", "cat.mp4"): number}) == found


def test_jobs_without_a_subject_make_no_pattern():
    assert names(failed(left=1), failures={("media", ""): 9}) == []


def test_a_worker_that_vanished_is_told_of_and_one_that_signed_off_only_if_asked_for(settings):
    lost = Happened(EventName.WORKER_OFFLINE, "gpu-1", "no heartbeat for too long")
    left = Happened(EventName.WORKER_OFFLINE, "gpu-1", "signed off")
    came = Happened(EventName.WORKER_ONLINE, "gpu-1", "registered")
    assert names(lost, left, came) == ["worker_offline"]
    settings.JOBS_ALERT_WORKERS = True
    assert names(lost, left, came) == ["worker_offline", "worker_shutdown", "worker_startup"]


def test_errors_are_one_line_cut_and_without_secrets(monkeypatch):
    monkeypatch.setenv("MY_API_KEY", "s3cr3t-of-mine")
    error = "could not log in with s3cr3t-of-mine at https://me:hush-hush@example.org/\n\x1b[31m" + "x" * 5000
    [raised] = from_events([failed(error=error)], {})
    assert "s3cr3t" not in raised.text
    assert "hush" not in raised.text
    assert "\n" not in raised.text
    assert "\x1b" not in raised.text
    assert len(raised.text) < 700


def test_concerns_are_told_of_with_what_they_are_about():
    seen = Snapshot(
        queues={"mail": Depth(pending=20_000, failed=3, oldest_pending_seconds=600)},
        states={"stalled": 2, "expired": 1},
        lost_workers=("gpu-1",),
    )
    raised = from_concerns(concerns(seen))
    assert {(each.name.value, each.key) for each in raised} == {
        ("no_claims", "mail"), ("job_stalled", ""), ("queue_depth_high", "mail"),
    }, "failed jobs and lost workers are told of as events, once, and not for as long as they are there"  # fmt: skip


@pytest.mark.parametrize(("free", "found"), [(4, ["disk_low"]), (5, []), (50, [])])
def test_a_disk_that_is_nearly_full(free, found):
    seen = Snapshot(disks=(Disk("stored files on a", free, 100), Disk("the work directory on a", 90, 100)))
    assert [each.name.value for each in from_concerns(concerns(seen))] == found


@pytest.mark.parametrize(("limit", "found"), [(600, ["long_transaction"]), (700, []), (0, [])])
def test_a_transaction_that_is_open_for_too_long(settings, limit, found):
    settings.JOBS_ALERT_LONG_TRANSACTION = limit
    assert [each.name for each in concerns(Snapshot(longest_transaction=601))] == found
