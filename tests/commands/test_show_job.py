"""`show_job`: everything of one job."""

import pytest

from jobs.handlers.base import Outcome, PhaseReport, QualityReport, Report
from jobs.lifecycle.finish import finish_one
from jobs.lifecycle.reap import reap_once
from jobs.lifecycle.report import report
from jobs.models import Worker
from jobs.states import PhaseStatus, QualityStatus
from tests.commands.calls import refused, run, run_json
from tests.factories import age, claimed, completed_at_second_try, make_job, make_worker

pytestmark = pytest.mark.django_db


def reported():
    ref = claimed(make_worker("gpu-box"), payload={"video": 7}, subject="a film", queue="media", scope="library-3")
    phases = [
        PhaseReport("probe", 0, PhaseStatus.COMPLETED, 100),
        PhaseReport("encode", 1, PhaseStatus.RUNNING, 30),
    ]
    qualities = [
        QualityReport("720p", QualityStatus.COMPLETED, 100, 90, 90),
        QualityReport("480p", QualityStatus.IN_PROGRESS, 25, 80, 20),
    ]
    report(Report(ref, progress=42, step="encoding", phases=phases, qualities=qualities, checkpoint={"at": 3}))
    return ref


def lines_of(text: str) -> list[list[str]]:
    return [line.split() for line in text.splitlines()]


def test_the_page_shows_state_claim_progress_phases_and_qualities():
    ref = reported()
    shown = run("show_job", ref.job_id)
    lines = lines_of(shown)
    assert lines[0] == ["Job", str(ref.job_id), "test.noop", "claimed"]
    assert ["progress", "████████░░░░░░░░░░░░", "42", "%", "encoding"] in lines
    assert f"{ref.claim_id}, lease " in shown
    assert "elsewhere" in shown
    assert "pid 4711" in shown.replace("\n              ", " ")
    assert ["encode", "running", "██████░░░░░░░░░░░░░░", "30", "%", "1"] in lines
    assert ["480p", "in_progress", "█████░░░░░░░░░░░░░░░", "25", "%", "20", "/", "80"] in lines
    assert '"video": 7' in shown
    assert '"at": 3' in shown


def test_the_page_shows_error_traceback_and_history_of_an_attempt_that_failed():
    ref = reported()
    finish_one(Outcome.failed(ref, ValueError("\x1b[31mno such codec"), fatal=True))
    shown = run("show_job", ref.job_id)
    assert "Error\nValueError: \\x1b[31mno such codec\n" in shown
    assert "Traceback\n" in shown
    assert "last worker" in shown
    history = shown.partition("History\n")[2].splitlines()[1:]
    assert [line.split()[2] for line in history] == [
        "enqueued", "claimed", "phase_completed", "quality_completed", "progressed", "failed"
    ]  # fmt: skip
    assert history[-1].split()[3:5] == ["1", "gpu-box"]


def test_the_error_of_a_completed_job_is_told_as_that_of_an_earlier_attempt():
    shown = run("show_job", completed_at_second_try().pk)
    assert "\nError of an earlier attempt\nbroken once\n" in shown
    assert "\nTraceback of an earlier attempt\n" in shown


def test_a_phase_cut_off_by_a_crash_is_shown_as_interrupted():
    ref = reported()
    age(3600)
    reap_once()
    assert ["encode", "interrupted"] in [line[:2] for line in lines_of(run("show_job", ref.job_id))]
    assert run_json("show_job", ref.job_id)["phases"][1]["shown_status"] == "interrupted"


def test_the_document_has_every_field_and_the_history():
    ref = reported()
    document = run_json("show_job", ref.job_id)
    assert (document["id"], document["state"], document["status"]) == (ref.job_id, "claimed", "running")
    assert (document["claim_id"], document["lease"]) == (str(ref.claim_id), 120.0)
    assert (document["payload"], document["checkpoint"], document["result"]) == ({"video": 7}, {"at": 3}, None)
    assert document["enqueued_at"].endswith("Z")
    assert [phase["name"] for phase in document["phases"]] == ["probe", "encode"]
    assert [quality["segments_completed"] for quality in document["qualities"]] == [90, 20]
    assert [event["name"] for event in document["events"]][:2] == ["enqueued", "claimed"]


def test_a_job_whose_worker_was_deleted_still_names_it():
    ref = reported()
    Worker.objects.all().delete()
    assert "gpu-box" in run("show_job", ref.job_id)


def test_the_text_of_users_is_shown_and_not_obeyed():
    job = make_job(payload={"t": "Zoë\x9b2J\u202e"}, subject="\x1b[2J[red]x")
    shown = run("show_job", job.pk)
    assert r"\x1b[2J[red]x" in shown
    assert r'"t": "Zoë\x9b2J\u202e"' in shown
    assert not any(char in shown for char in "\x1b\x9b\u202e")


def test_a_job_that_does_not_exist_is_a_failure():
    refusal = refused("show_job", 999_999)
    assert (refusal.code, refusal.sentence, refusal.printed) == (1, "There is no job 999999.", "")


@pytest.mark.parametrize("text", ["0", "-1", "abc", "1.0", "", "²", str(2**63), str(2**200), "9" * 5000])
def test_what_is_no_id_is_wrong_use(text):
    refusal = refused("show_job", text)
    assert refusal.code == 2
    assert "is not a job's id: a whole number from 1 to 9223372036854775807" in refusal.sentence


def test_the_page_shows_what_it_waits_for_and_who_waits_for_it():
    first, other = make_job(subject="the first"), make_job()
    job = make_job(after=[first, other])
    last = make_job(after=[job])
    lines = lines_of(run("show_job", job.pk))
    assert ["why", "it", "waits", "waits", "for", "2", "jobs"] in lines
    assert ["waits", "for", str(first.pk), "unclaimed", "░░░░░░░░░░░░░░░░░░░░", "0", "%", "the", "first"] in lines
    assert any(line[:4] == ["waiting", "for", "it", str(last.pk)] for line in lines)
    told = run_json("show_job", job.pk)["workflow"]
    assert [(each["relation"], each["id"], each["policy"]) for each in told] == [
        ("waits for", first.pk, "cancel"),
        ("waits for", other.pk, "cancel"),
        ("waiting for it", last.pk, "cancel"),
    ]
