"""`clear_jobs`: ended jobs are deleted, after a question."""

import os
import pty
import subprocess

import pytest

from jobs.models import Job
from jobs.states import Status
from tests.commands.calls import refused, run, run_json
from tests.factories import age, claimed, job_in, make_job
from tests.manage import manage, start

pytestmark = pytest.mark.django_db


def test_ended_jobs_that_match_are_deleted():
    old = job_in(Status.COMPLETED, queue="media")
    age(3600)
    job_in(Status.COMPLETED, queue="media")
    job_in(Status.FAILED, queue="slow")
    assert run("clear_jobs", "--queue", "media", "--older-than", "30m", "--yes") == f"Cleared: 1 job ({old.pk}).\n"
    assert Job.objects.count() == 2


def test_pending_and_running_jobs_are_never_deleted():
    ref, pending, done = claimed(), make_job(), job_in(Status.COMPLETED, queue="media")
    assert run_json("clear_jobs", "--kind", "test.noop", "--yes") == {"cleared": [done.pk], "skipped": []}
    refusal = refused("clear_jobs", ref.job_id, pending.pk, "--yes")
    assert refusal.code == 1
    assert f"Left alone, because not ended or not there: 2 jobs ({ref.job_id}, {pending.pk})." in refusal.printed
    assert Job.objects.count() == 2


def test_nothing_is_deleted_unless_something_is_chosen():
    job_in(Status.COMPLETED)
    assert refused("clear_jobs", "--yes").code == 2
    assert Job.objects.count() == 1


@pytest.mark.django_db(transaction=True)
def test_without_a_terminal_it_refuses_to_guess():
    job = job_in(Status.COMPLETED)
    done = manage("clear_jobs", str(job.pk), stdin="y\n")
    assert (done.returncode, done.stdout) == (2, "")
    assert "add --yes" in done.stderr
    assert Job.objects.filter(pk=job.pk).exists()


def answered(answer: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run clear_jobs with a person at the keyboard; the question must come before the answer."""
    keyboard, stdin = pty.openpty()
    try:
        process = start("clear_jobs", *arguments, stdin=stdin)
        assert process.stderr is not None
        question = ""
        while not question.endswith("[y/N] "):
            char = process.stderr.read(1)
            assert char, f"it asked nothing, but said: {question}"
            question += char
        os.write(keyboard, answer.encode())
        out, err = process.communicate(timeout=30)
        return subprocess.CompletedProcess([], process.returncode, out, question + err)
    finally:
        os.close(stdin)
        os.close(keyboard)


@pytest.mark.django_db(transaction=True)
def test_on_a_terminal_it_asks_and_a_no_deletes_nothing():
    job_in(Status.COMPLETED)
    done = answered("\n", "--status", "completed")
    assert (done.returncode, done.stdout) == (1, "")
    assert "Delete 1 ended job for good? [y/N]" in done.stderr
    assert "Nothing was deleted." in done.stderr
    assert Job.objects.count() == 1


@pytest.mark.django_db(transaction=True)
def test_on_a_terminal_a_yes_deletes_and_the_output_stays_one_document():
    job = job_in(Status.COMPLETED)
    done = answered("y\n", "--status", "completed", "--json")
    assert done.returncode == 0
    assert done.stdout.split() == ["{", '"cleared":', "[", str(job.pk), "],", '"skipped":', "[]", "}"]
    assert not Job.objects.exists()
