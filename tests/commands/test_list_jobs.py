"""`list_jobs`: finds jobs, the newest first."""

import pytest

from jobs.states import ShownState, Status
from tests.commands.calls import refused, run, run_json
from tests.factories import age, claimed, completed_at_second_try, job_in, make_job

pytestmark = pytest.mark.django_db


def ids(*arguments: object) -> list[int]:
    return [job["id"] for job in run_json("list_jobs", *arguments)["jobs"]]


def test_the_newest_come_first_and_no_more_than_asked_for():
    first, second, third = make_job(), make_job(), make_job()
    assert ids() == [third.pk, second.pk, first.pk]
    assert run_json("list_jobs", "--limit", 2)["more"] is True
    assert run_json("list_jobs", "--limit", 3)["more"] is False
    assert "There are more; --limit 4 shows more of them." in run("list_jobs", "--limit", 2)


def test_each_filter_narrows_the_list():
    wanted = job_in(Status.FAILED, queue="media", scope="library-3")
    job_in(Status.FAILED, queue="media", scope="library-4")
    job_in(Status.FAILED, queue="slow", scope="library-3")
    job_in(Status.COMPLETED, queue="media", scope="library-3")
    make_job("other.kind", queue="media", scope="library-3", allow_unknown=True)
    assert ids("--status", "failed", "--queue", "media", "--scope", "library-3", "--kind", "test.noop") == [wanted.pk]


def test_several_statuses_are_alternatives():
    failed, cancelled = job_in(Status.FAILED), job_in(Status.CANCELLED)
    make_job()
    assert ids("--status", "failed", "--status", "cancelled") == [cancelled.pk, failed.pk]


def test_the_finer_states_can_be_asked_for():
    ref = claimed()
    age(125)
    assert ids("--state", ShownState.EXPIRED) == [ref.job_id]
    assert ids("--state", ShownState.CLAIMED) == []


def test_age_counts_from_the_end_or_from_the_beginning_of_what_has_not_ended():
    old = make_job()
    finished = job_in(Status.COMPLETED, queue="media")
    age(3600)
    make_job()
    assert ids("--older-than", "59m") == [finished.pk, old.pk]
    assert ids("--older-than", "61m") == []


def test_the_table_shows_state_progress_and_error():
    job = job_in(Status.FAILED, queue="media", subject="a film", priority=7)
    header, row = (line.split() for line in run("list_jobs").splitlines())
    assert header == ["JOB", "STATE", "QUEUE", "KIND", "SUBJECT", "PRIO", "%", "TRY", "AGE", "ERROR"]
    assert row[:7] == [str(job.pk), "failed", "media", "test.noop", "a", "film", "7"]
    assert row[-1] == "broken"


def test_a_completed_job_has_no_error_in_the_table():
    completed_at_second_try()
    shown = run("list_jobs")
    assert "broken" not in shown
    assert "2/3" in shown


def test_nothing_found_is_no_failure():
    assert run("list_jobs") == "No job matches.\n"
    assert run_json("list_jobs") == {"jobs": [], "more": False}


def test_a_hostile_subject_is_shown_and_not_obeyed():
    make_job(subject="\x1b[2J[bold]x[/]\n\u202e")
    shown = run("list_jobs")  # how much of it fits depends on how long the job's number is
    assert r"\x1b[2J[bold]x[/]\n" in shown
    assert "\x1b" not in shown
    assert "\u202e" not in shown
    assert run_json("list_jobs")["jobs"][0]["subject"] == "\x1b[2J[bold]x[/]\n\u202e"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--status", "done"], "invalid choice: 'done'"),
        (["--state", "sleeping"], "invalid choice: 'sleeping'"),
        (["--queue", ""], "the value is empty"),
        (["--queue", "a b"], "The queue name 'a b' is not valid"),
        (["--scope", ""], "the value is empty"),
        (["--scope", "\x00"], "contains a NUL character"),
        (["--kind", "\udcff"], "contains a lone surrogate"),
        (["--kind", "k" * 101], "at most 100 are allowed"),
        (["--older-than", "-5"], "'-5' is not a duration"),
        (["--older-than", "9" * 40], "is not a duration"),
        (["--older-than", "5300w"], "is too long a duration"),
        (["--limit", "0"], "'0' is not a whole number from 1 to 100000"),
        (["--limit", "1e3"], "'1e3' is not a whole number"),
        (["5"], "unrecognized arguments: 5"),
        (["--stat", "failed"], "unrecognized arguments: --stat"),
    ],
)  # fmt: skip
def test_a_wrong_filter_is_refused(arguments, said):
    refusal = refused("list_jobs", *arguments)
    assert said in refusal.sentence
    assert refusal.code == 2


def test_the_longest_age_that_is_accepted_can_be_asked_for():
    make_job()
    assert ids("--older-than", "36500d") == []
