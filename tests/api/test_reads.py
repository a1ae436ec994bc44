"""Looking at the queue over HTTP: exact depths, filtered lists page by page, and all about one job."""

from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from jobs.admin.job_filter import STATES
from jobs.api.queue.reads import MOST_EVENTS
from jobs.handlers.base import Outcome, PhaseReport, QualityReport, Report
from jobs.lifecycle.cancel import cancel
from jobs.lifecycle.clear import clear
from jobs.lifecycle.counts import fold
from jobs.lifecycle.enqueue_many import enqueue_many
from jobs.lifecycle.events import of_job, record
from jobs.lifecycle.finish import finish_one
from jobs.lifecycle.new_job import NewJob
from jobs.lifecycle.queues import pause
from jobs.lifecycle.report import report
from jobs.lifecycle.sql.insert_jobs import MANY
from jobs.models import Job
from jobs.states import EventName, PhaseStatus, QualityStatus, ShownState, Status, Verdict
from tests.api.calls import QUEUE, error_of
from tests.factories import age, claimed, completed_at_second_try, job_in, make_job, make_worker, real_counts

pytestmark = pytest.mark.django_db
JOBS = f"{QUEUE}/jobs"


def get(client: Client, address: str, **query: Any) -> Any:
    answer = client.get(address, query)
    assert answer.status_code == 200, answer.content
    return answer.json()


def ids(told: Any) -> list[int]:
    return [job["id"] for job in told["jobs"]]


# Depth


def test_the_depth_is_the_number_of_rows_with_scheduled_ones_among_the_pending(program: Client):
    later = timezone.now() + timedelta(hours=1)
    for status in reversed(Status):
        job_in(status)
    make_job(queue="media", run_after=later), make_job(queue="media")
    finish_one(Outcome.failed(claimed(queue="again"), "broken"))  # waits for its next attempt
    pause("empty")
    for step in (lambda: None, fold, lambda: clear(Job.objects.filter(status=Status.COMPLETED))):
        step()
        told = get(program, f"{QUEUE}/depth")
        counted: dict[str, int] = {}
        for (_, bucket), jobs in real_counts().items():
            counted[bucket] = counted.get(bucket, 0) + jobs
        assert told["pending"] == counted["pending"] + counted["scheduled"] == 4
        assert told["scheduled"] == counted["scheduled"] == 2
        assert (told["running"], told["completed"]) == (counted["running"], counted.get("completed", 0))
        assert (told["errors"], told["cancelled"]) == (counted["failed"], counted["cancelled"])
        parts = ("pending", "running", "completed", "errors", "cancelled")
        assert sum(told[part] for part in parts) == Job.objects.count()
        for part in parts:
            assert told[part] == sum(queue[part] for queue in told["queues"].values())
    assert told["queues"]["media"] == {
        "pending": 2, "scheduled": 1, "running": 0, "completed": 0, "errors": 0, "cancelled": 0, "paused": False,
        "oldest_pending_seconds": told["queues"]["media"]["oldest_pending_seconds"],
    }  # fmt: skip
    assert told["queues"]["empty"]["paused"] is True


# The list


def test_a_list_is_filtered_as_in_the_admin(program: Client):
    worker = make_worker("gpu")
    failed = job_in(Status.FAILED)
    job_in(Status.CANCELLED)
    waiting = make_job(queue="media", subject="Dune", scope="films")
    ref = claimed(worker, queue="run", payload={"a": 1}, subject="100% \\ _sure")
    assert ids(get(program, JOBS, state="pending")) == ids(get(program, JOBS, search="dun")) == [waiting.pk]
    assert ids(get(program, JOBS, state="unclaimed", queue="media", kind="test.noop", scope="films")) == [waiting.pk]
    assert ids(get(program, JOBS, worker=worker.pk)) == ids(get(program, JOBS, search="100% \\ _s")) == [ref.job_id]
    assert ids(get(program, JOBS, state="running")) == ids(get(program, JOBS, search=ref.job_id)) == [ref.job_id]
    assert ids(get(program, JOBS, search="broken")) == ids(get(program, JOBS, state="failed")) == [failed.pk]
    for nothing in ({"queue": "none"}, {"kind": "none"}, {"scope": "x"}, {"worker": uuid4()}, {"search": "zzz"}):
        assert get(program, JOBS, **nothing) == {"jobs": [], "next": None}
    age(3600)
    fresh = make_job()
    assert ids(get(program, JOBS, newer_than=1800)) == [fresh.pk]
    assert fresh.pk not in ids(get(program, JOBS, older_than=1800))


def test_every_state_of_the_admin_can_be_asked_for(program: Client):
    for state in STATES:
        assert get(program, JOBS, state=state) == {"jobs": [], "next": None}
    assert set(STATES) == {*ShownState, Status.PENDING, Status.RUNNING}


def test_a_completed_job_has_no_error_in_a_list_and_that_of_an_earlier_attempt_by_itself(program: Client):
    job = completed_at_second_try()
    [told] = get(program, JOBS)["jobs"]
    assert (told["status"], told["error"]) == ("completed", None)
    assert get(program, f"{JOBS}/{job.pk}")["error"] == "broken once"


def test_a_summary_tells_what_a_list_needs_and_nothing_large(program: Client):
    job = job_in(Status.FAILED, payload={"secret": "x" * 1000}, subject="Dune", dedupe_key="k")
    [told] = get(program, JOBS)["jobs"]
    assert told.keys() == {
        "id", "kind", "queue", "state", "status", "subject", "scope", "priority", "progress", "step", "attempt",
        "max_attempts", "dedupe_key", "worker", "error", "enqueued_at", "run_after", "started_at", "finished_at",
    }  # fmt: skip
    expected = {"id": job.pk, "state": "failed", "error": "broken", "attempt": 1, "dedupe_key": "k", "subject": "Dune"}
    assert expected.items() <= told.items()
    assert told["worker"] == {"id": str(job.last_worker_id), "name": "worker"}


def test_pages_go_on_where_the_last_one_ended_whatever_happens_meanwhile(program: Client):
    made = [make_job().pk for _ in range(7)]
    first = get(program, JOBS, limit=3)
    assert ids(first) == made[:3:-1]
    newer = make_job()
    cancel(made[3])
    clear([cancelled := made[3]])  # the next one of the list
    clear(made[4])  # is pending, and stays
    second = get(program, JOBS, limit=3, cursor=first["next"])
    assert ids(second) == [made[2], made[1], made[0]]
    assert second["next"] is None
    assert newer.pk in ids(get(program, JOBS, limit=3))
    assert not Job.objects.filter(pk=cancelled).exists()


def test_a_page_that_is_just_full_is_the_last(program: Client):
    for _ in range(4):
        make_job()
    assert get(program, JOBS, limit=4)["next"] is None
    half = get(program, JOBS, limit=2, state="pending")
    assert get(program, JOBS, limit=2, state="pending", cursor=half["next"])["next"] is None


def test_a_list_takes_the_same_few_statements_however_long_it_is(program: Client):
    job_in(Status.COMPLETED)
    with CaptureQueriesContext(connection) as few:
        get(program, JOBS)
    for _ in range(5):
        job_in(Status.COMPLETED)
    with CaptureQueriesContext(connection) as many:
        assert len(get(program, JOBS)["jobs"]) == 6
    assert len(few) >= len(many)
    assert len(many) <= 8


@pytest.mark.parametrize(
    "query",
    [
        "limit=0", "limit=501", "limit=x", "limit=", "limit=1.5", "limit=%D9%A3", "state=done", "state=", "worker=7",
        "queue=a%20b", "queue=%00", "queue=", "search=%00", f"search={'x' * 501}", "kind=%00", f"scope={'x' * 201}",
        "older_than=-1", "older_than=nan", "older_than=1e300", "newer_than=inf", "newer_than=soon", "page=2",
        "cursor=", "cursor=x", "cursor=YmVmb3JlOjA", "cursor=YmVmb3JlOi0x", "cursor=%00", "cursor=%F0%9F%98%80",
        f"cursor={'A' * 101}", "older_than=" + "9" * 400,
    ],
)  # fmt: skip
def test_a_list_that_is_asked_for_wrongly_is_refused(program: Client, query: str):
    assert error_of(program.get(f"{JOBS}?{query}"), 422)[0] == "invalid"


def test_the_last_page_of_all_is_empty(program: Client):
    make_job()
    assert get(program, JOBS, cursor="YmVmb3JlOjE") == {"jobs": [], "next": None}  # before:1


# One job


def test_one_job_tells_all(program: Client):
    ref = claimed(payload={"video": 7}, max_attempts=1)
    report(
        Report(
            ref,
            progress=42,
            checkpoint={"done": 3},
            phases=[PhaseReport("probe", 1, PhaseStatus.COMPLETED, 100, result={"width": 640})],
            qualities=[QualityReport("720p", QualityStatus.IN_PROGRESS, 30, 10, 3, details={"fps": 48})],
        )
    )
    told = get(program, f"{JOBS}/{ref.job_id}")
    assert (told["state"], told["progress"], told["payload"]) == ("claimed", 42, {"video": 7})
    assert (told["checkpoint"], told["result"], told["error"], told["traceback"]) == ({"done": 3}, None, None, None)
    assert told["lease_expires_at"] > told["claimed_at"]
    assert "claim_id" not in str(told)
    [phase], [quality] = told["phases"], told["qualities"]
    assert (phase["name"], phase["status"], phase["result"]) == ("probe", "completed", {"width": 640})
    assert (quality["name"], quality["status"], quality["progress"]) == ("720p", "in_progress", 30)
    assert (quality["segments_total"], quality["segments_completed"], quality["details"]) == (10, 3, {"fps": 48})
    finish_one(Outcome(ref, Verdict.FAILED, error="broken", traceback="Traceback: <b>"))
    told = get(program, f"{JOBS}/{ref.job_id}")
    assert (told["state"], told["error"], told["traceback"]) == ("failed", "broken", "Traceback: <b>")
    assert [event["name"] for event in told["events"]][:2] == ["enqueued", "claimed"]
    last = told["events"][-1]
    assert (last["name"], last["worker"], last["attempt"], last["reason"]) == ("failed", "worker", 1, "broken")


def test_of_a_long_history_the_end_is_told(program: Client):
    job = make_job()
    record(of_job(job, EventName.PROGRESSED, reason=str(number)) for number in range(MOST_EVENTS + 5))
    told = get(program, f"{JOBS}/{job.pk}")["events"]
    assert (len(told), told[0]["reason"], told[-1]["reason"]) == (MOST_EVENTS, "5", str(MOST_EVENTS + 4))


def test_a_job_that_was_enqueued_with_a_hundred_others_has_a_history_of_its_own(program):
    first = enqueue_many(NewJob("test.noop", {"n": n}) for n in range(MANY)).created[0]
    [enqueued] = get(program, f"{JOBS}/{first}")["events"]
    assert (enqueued["name"], enqueued["attempt"]) == ("enqueued", 0)
