"""Commands as real processes: exit codes, streams, and an output that nobody reads to its end."""

import json
from pathlib import Path

import pytest

from jobs.states import Status
from tests.factories import job_in, make_job
from tests.manage import manage, start

pytestmark = pytest.mark.django_db(transaction=True)


def test_done_is_0_with_the_result_alone_on_standard_output():
    job = make_job()
    done = manage("show_job", str(job.pk), "--json")
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)["id"] == job.pk


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["show_job", "999999", "--json"], 1, "CommandError: There is no job 999999.\n"),
        (["show_job", str(2**64)], 2, "is not a job's id"),
        (["enqueue", "test.noop", "--allow-unknown", "--queue", "a b"], 2, "CommandError: The queue name 'a b'"),
        (["cancel_jobs"], 2, "CommandError: Say which jobs to cancel"),
        (["list_jobs", "--nonsense"], 2, "unrecognized arguments: --nonsense"),
    ],
)
def test_failures_are_1_and_wrong_use_is_2_each_with_a_sentence_on_standard_error(arguments, code, said):
    done = manage(*arguments)
    assert (done.returncode, done.stdout) == (code, "")
    assert said in done.stderr
    assert "Traceback" not in done.stderr


def test_bytes_that_are_not_text_are_wrong_use():
    done = manage("enqueue", "test.noop", "--allow-unknown", "--subject", "\udcff\udcfe")
    assert done.returncode == 2
    assert "contains a lone surrogate" in done.stderr


def test_a_database_without_tables_says_what_to_do(tmp_path):
    done = manage("list_jobs", DATABASE_URL=f"sqlite:///{tmp_path / 'empty.sqlite3'}")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.endswith("no such table: jobs_job. Run `manage.py migrate` first.\n")
    assert "Traceback" not in done.stderr


def test_a_database_that_is_not_there_is_a_failure_in_one_sentence():
    done = manage("queue_status", "--json", DATABASE_URL="postgres://jobyard@127.0.0.1:1/nowhere")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("CommandError: The database could not do it: ")
    assert done.stderr.endswith("refused. Is the server running on that host and accepting TCP/IP connections?\n")
    assert len(done.stderr.splitlines()) == 1


def test_a_file_that_cannot_be_opened_is_named(tmp_path):
    done = manage("queue_status", DATABASE_URL=f"sqlite:///{tmp_path}/nowhere/db.sqlite3")
    assert (done.returncode, "Traceback" in done.stderr) == (1, False)
    assert f"It is {tmp_path}/nowhere/db.sqlite3: its folder must exist" in done.stderr


def test_a_terminal_that_knows_only_ascii_gets_question_marks_and_no_error():
    job = make_job(subject="Zoë 映画")
    done = manage("show_job", str(job.pk), PYTHONIOENCODING="ascii")
    assert done.returncode == 0
    assert "Zo? ??" in done.stdout


def test_a_reader_that_has_seen_enough_is_no_error():
    for _ in range(3):
        job_in(Status.CANCELLED)
    process = start("list_jobs", "--json")
    assert process.stdout is not None
    process.stdout.close()  # as `head` does
    assert process.stderr is not None
    assert process.stderr.read() == ""
    assert process.wait(30) == 0
    process.stderr.close()


def test_why_a_worker_cannot_go_on_is_once_in_its_log_and_once_its_last_word(tmp_path: Path):
    done = manage("runworker", "--until-empty", DATABASE_URL=f"sqlite:///{tmp_path / 'empty.sqlite3'}")
    assert done.returncode == 1
    *log, last = done.stderr.splitlines()
    assert last == (
        "CommandError: The database could not do it: no such table: jobs_worker. Run `manage.py migrate` first."
    )
    assert [line.count("no such table") for line in log] == [1, 0]


def test_handlers_that_cannot_be_imported_are_an_error_of_check_and_keep_no_command_of_ours_from_working():
    with_broken = {"DJANGO_SETTINGS_MODULE": "tests.settings", "TEST_APPS": "tests.broken_app"}
    checked = manage("check", **with_broken)
    assert checked.returncode == 1
    said = "(jobs.E070) tests.broken_app.job_handlers cannot be imported: ImportError: No module named 'libmissing'."
    assert said in checked.stderr
    listed = manage("list_jobs", **with_broken)
    assert (listed.returncode, listed.stderr) == (0, "")
