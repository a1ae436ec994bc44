"""The page of a job: everything of it, texts of others as texts, and only the buttons that fit its state."""

import re
from datetime import timedelta

import pytest
from django.test import Client
from django.urls import reverse

from jobs.admin import job_page
from jobs.handlers.base import Outcome, PhaseReport, QualityReport, Report, Spawn
from jobs.lifecycle.clear import clear
from jobs.lifecycle.finish import fail, finish_one
from jobs.lifecycle.report import report
from jobs.lifecycle.spawn import spawn
from jobs.models import Job, Worker
from jobs.selectors.clock import database_now
from jobs.states import PhaseStatus, QualityStatus, Status
from tests.admin.visits import ESCAPED, HOSTILE, act, page
from tests.factories import age, claimed, completed_at_second_try, end, job_in, make_job, make_worker, reload

pytestmark = pytest.mark.django_db
PAGE = "admin:jobs_job_change"


def buttons(client: Client, job: Job) -> list[str]:
    return re.findall(r'name="action" value="(\w+)"', page(client, PAGE, job.pk))


@pytest.fixture
def hostile_job() -> Job:
    """A job of which every text that others write is hostile."""
    ref = claimed(make_worker(HOSTILE), subject=HOSTILE, scope=HOSTILE, payload={"text": HOSTILE}, max_attempts=1)
    phase = PhaseReport(HOSTILE, 0, PhaseStatus.FAILED, error=HOSTILE)
    quality = QualityReport(HOSTILE, QualityStatus.FAILED, error=HOSTILE)
    report(Report(ref, 50, HOSTILE, [phase], [quality], checkpoint={"text": HOSTILE}))
    finish_one(Outcome.failed(ref, HOSTILE))
    return reload(ref)


def test_hostile_texts_are_shown_and_not_obeyed(operator: Client, hostile_job: Job):
    worker = Worker.objects.get()
    pages = [
        page(operator, "admin:jobs_job_changelist"),
        page(operator, "admin:jobs_job_changelist", q=HOSTILE, scope=HOSTILE),
        page(operator, PAGE, hostile_job.pk),
        page(operator, "admin:jobs_worker_changelist"),
        page(operator, "admin:jobs_worker_change", worker.pk),
    ]
    for content in pages:
        assert ESCAPED in content
        assert HOSTILE not in content


def test_it_shows_phases_and_qualities_with_bars_and_segments(operator: Client):
    ref = claimed()
    phase = PhaseReport("encode", 0, PhaseStatus.RUNNING, 40)
    quality = QualityReport("720p", QualityStatus.IN_PROGRESS, progress=30, segments_completed=3, segments_total=10)
    report(Report(ref, phases=[phase], qualities=[quality]))
    content = page(operator, PAGE, ref.job_id)
    for text in ("encode", "running", 'value="40" aria-label="Progress of encode"', "720p", "in progress", "3 of 10"):
        assert text in content


def test_it_shows_payload_and_result_as_json_and_the_error_with_its_traceback(operator: Client):
    done = claimed(payload={"month": 5})
    finish_one(Outcome.completed(done, {"pages": [1, 2]}))
    content = page(operator, PAGE, done.job_id)
    assert "{\n  &quot;month&quot;: 5\n}" in content
    assert "&quot;pages&quot;: [" in content
    broken = claimed(make_worker("other"), queue="q", max_attempts=1)
    try:
        raise ValueError("no such month")
    except ValueError as error:
        finish_one(Outcome.failed(broken, error))
    content = page(operator, PAGE, broken.job_id)
    assert "ValueError: no such month" in content
    assert "test_job_page.py" in content
    assert 'data-copy="jy-traceback"' in content


def test_the_error_of_a_completed_job_is_told_as_that_of_an_earlier_attempt(operator: Client):
    content = page(operator, PAGE, completed_at_second_try().pk)
    assert "Error of an earlier attempt</h2>" in content
    assert "broken once" in content


def test_it_tells_who_has_it_and_who_had_it_attempt_by_attempt(operator: Client):
    ref = claimed(make_worker("first"))
    fail(ref, "broken once", retry_after=0)
    claimed(make_worker("second"), reload(ref))
    content = page(operator, PAGE, ref.job_id)
    told = re.sub(r"<[^>]+>|\s+", " ", content)
    assert re.search(r"Attempt 1 on +first .*broken once.*Attempt 2 on +second", told)
    assert "held by" in content
    assert re.search(r"lease</dt><dd[^>]*>(2m|1m\d+s) left", content)
    age(200)
    assert re.search(r"over since \d", page(operator, PAGE, ref.job_id))


def test_a_holder_whose_row_is_gone_is_still_named(operator: Client):
    ref = claimed(make_worker("gone"))
    Worker.objects.all().delete()
    assert "gone (its row is gone)" in page(operator, PAGE, ref.job_id)


def test_of_a_long_history_the_latest_is_shown(operator: Client, monkeypatch):
    monkeypatch.setattr(job_page, "MOST_EVENTS", 2)
    job = make_job()
    for action in ("front", "back"):
        act(operator, action, job)
    content = page(operator, PAGE, job.pk)
    assert "Only the latest events are shown." in content
    assert "from 100 to -100, by anna" in content
    assert "<strong>enqueued</strong>" not in content


def test_the_buttons_are_those_that_its_state_allows(operator: Client):
    waiting = ["front", "back", "priority", "move", "cancel"]
    assert buttons(operator, make_job()) == waiting
    assert buttons(operator, make_job(run_after=database_now() + timedelta(hours=1))) == ["run_now", *waiting]
    assert buttons(operator, job_in(Status.RUNNING, queue="r")) == ["cancel"]
    assert buttons(operator, job_in(Status.COMPLETED, queue="c")) == ["requeue", "clear"]
    assert buttons(operator, job_in(Status.FAILED, queue="f")) == ["retry", "requeue", "clear"]
    assert buttons(operator, job_in(Status.CANCELLED)) == ["retry", "requeue", "clear"]


def test_a_job_that_is_not_there_is_not_found(operator: Client):
    for wrong in (4711, "x", "9" * 30):
        assert operator.get(reverse(PAGE, args=[wrong])).status_code == 404


def test_the_admin_log_of_a_job_can_be_read(operator: Client):
    job = make_job()
    act(operator, "front", job)
    assert "Given priority 100." in page(operator, "admin:jobs_job_history", job.pk)


def test_a_workflow_is_shown_from_each_of_its_jobs(operator: Client):
    first, other = make_job(subject="first of all", queue="a"), make_job(subject=HOSTILE, queue="b")
    job = make_job(after=[first, other], subject="in the middle")
    last = make_job(after=[job], subject="the last")
    end(first)
    content = page(operator, PAGE, job.pk)
    assert all(words in content for words in ("Waits for", "first of all", "Waiting for it", "the last", ESCAPED))
    assert HOSTILE not in content
    assert "1 of 2 jobs have ended" in content
    assert "waits for 1 job<" in content
    clear(first.pk)
    assert f"job {first.pk} (deleted)" in page(operator, PAGE, job.pk)
    assert "in the middle" in page(operator, PAGE, last.pk)
    listed = page(operator, "admin:jobs_job_changelist", state="scheduled")
    assert "waits for 1 job" in listed
    assert "in the middle" in listed
    assert "Workflow" not in page(operator, PAGE, make_job().pk)


def test_what_a_job_spawned_is_shown_with_its_progress(operator: Client):
    ref = claimed()
    one, _ = spawn(ref, [Spawn("test.noop", {"n": n}, f"part {n}", {"queue": f"q{n}"}) for n in range(2)])
    end(reload(one.id), Outcome.failed, error="x", fatal=True)
    content = page(operator, PAGE, ref.job_id)
    assert all(words in content for words in ("Spawned", "part 0", "part 1", "1 failed", "1 of 2 jobs"))
    assert "Spawned by" in page(operator, PAGE, one.id)


def test_a_long_list_of_relatives_is_cut(operator: Client, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("jobs.selectors.workflows.MOST", 2)
    job = make_job(after=[make_job() for _ in range(3)])
    assert "and 3 in all" in page(operator, PAGE, job.pk)
