"""Tasks as a worker runs them: how each end becomes a result, and who is told."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.core.exceptions import SuspiciousOperation
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils.module_loading import import_string

from jobs import enqueue
from jobs.exceptions import AttemptEnded, Cancelled, Fatal
from jobs.lifecycle.cancel import cancel
from jobs.lifecycle.clear import clear
from jobs.lifecycle.move_to_queue import move_to_queue
from jobs.lifecycle.retry import retry
from jobs.models import Job
from jobs.tasks.compat import TaskResultDoesNotExist, TaskResultStatus, task_backends, task_finished, task_started
from jobs.tasks_backend import JobyardBackend
from tests.app import tasks
from tests.factories import claimed, make_job, reload
from tests.tasks.awaiting import awaited

pytestmark = pytest.mark.django_db


@pytest.fixture
def heard() -> Iterator[list[tuple[str, Any, str]]]:
    """What the signals said: which one, who sent it, and the status at that time."""
    heard: list[tuple[str, Any, str]] = []

    def started(sender: Any, task_result: Any, **_: Any) -> None:
        heard.append(("started", sender, str(task_result.status)))

    def finished(sender: Any, task_result: Any, **_: Any) -> None:
        assert task_result.finished_at is not None
        heard.append(("finished", sender, str(task_result.status)))

    task_started.connect(started)
    task_finished.connect(finished)
    yield heard
    task_started.disconnect(started)
    task_finished.disconnect(finished)


def test_a_task_that_somebody_has_claimed_is_running():
    result = tasks.meaning_of_life.enqueue()
    claimed(job=reload(int(result.id)))
    awaited(result.arefresh)
    assert (result.status, result.attempts, result.worker_ids) == (TaskResultStatus.RUNNING, 1, ["worker"])
    with pytest.raises(ValueError, match="not finished"):
        _ = result.return_value


def test_a_result_follows_its_task_to_the_end(work, heard):
    result = tasks.meaning_of_life.enqueue()
    assert work("anna") == 1
    assert (result.status, result.attempts) == (TaskResultStatus.READY, 0)
    result.refresh()
    assert (result.status, result.is_finished, result.return_value) == (TaskResultStatus.SUCCESSFUL, True, 42)
    assert (result.attempts, result.worker_ids, result.errors) == (1, ["anna"], [])
    moments: list[Any] = [result.enqueued_at, result.started_at, result.last_attempted_at, result.finished_at]
    assert moments == sorted(moments)
    assert heard == [("started", JobyardBackend, "RUNNING"), ("finished", JobyardBackend, "SUCCESSFUL")]


@pytest.mark.parametrize("task", [tasks.echo_async, tasks.echo])
def test_plain_and_async_tasks_run(work, task):
    result = task.enqueue(5)
    work()
    result.refresh()
    assert result.return_value in (5, [[5], {}])


@pytest.mark.parametrize("task", [tasks.fails, tasks.fails_async])
def test_a_task_that_raises_has_failed_at_once_with_its_error(work, heard, task):
    result = task.enqueue()
    assert work() == 1
    result.refresh()
    assert (result.status, result.attempts, result.is_finished) == (TaskResultStatus.FAILED, 1, True)
    (error,) = result.errors
    assert error.exception_class is ValueError
    assert error.traceback.startswith("Traceback")
    assert error.traceback.endswith("ValueError: it broke\n")
    with pytest.raises(ValueError, match="Task failed"):
        _ = result.return_value
    assert [(what, status) for what, _, status in heard] == [("started", "RUNNING"), ("finished", "FAILED")]


@pytest.mark.parametrize(
    ("task", "error", "words"),
    [
        (tasks.raises_an_exception_in_an_exception, ValueError, "ValueError: inner"),
        (tasks.exits, SystemExit, "SystemExit: 1"),
        (tasks.is_interrupted, KeyboardInterrupt, "Ctrl-C"),
        (tasks.returns_a_function, TypeError, "Unsupported type"),
        (tasks.gives_up, Fatal, "this cannot work"),
    ],
)
def test_whatever_a_task_raises_is_its_error(work, heard, task, error, words):
    result = task.enqueue()
    assert work() == 1
    result.refresh()
    assert result.errors[0].exception_class is error
    assert words in result.errors[0].traceback
    assert heard[-1][::2] == ("finished", "FAILED")


@pytest.mark.parametrize(("what", "words"), [("nan", "is nan"), ("nul", "NUL"), ("large", "JOBS_MAX_RESULT allows")])
def test_a_return_value_that_would_not_come_back_as_it_was_fails_the_task(work, what, words):
    result = tasks.returns.enqueue(what)
    work()
    result.refresh()
    assert issubclass(result.errors[0].exception_class, ValueError)
    assert words in result.errors[0].traceback


@pytest.mark.parametrize(("what", "value"), [("keys", {"1": [2, 3]}), ("bytes", "text")])
def test_return_values_are_what_json_makes_of_them(work, what, value):
    result = tasks.returns.enqueue(what)
    work()
    result.refresh()
    assert result.return_value == value


def test_the_context_knows_the_result_and_the_attempt(work):
    own, attempt = tasks.own_id.enqueue(), tasks.own_attempt.enqueue(1)
    work("anna")
    own.refresh()
    attempt.refresh()
    assert own.return_value == own.id
    assert attempt.return_value == {"status": "RUNNING", "workers": ["anna"], "enqueued": True}


def test_a_task_with_attempts_left_is_ready_again_and_finishes_once(work, heard):
    result = tasks.works_at.using(backoff="fixed:3600").enqueue(2)
    assert work("anna") == 1
    result.refresh()
    assert (result.status, result.attempts, result.is_finished) == (TaskResultStatus.READY, 1, False)
    assert result.errors[0].exception_class is ValueError
    Job.objects.filter(pk=result.id).update(hold="", run_after="2020-01-01T00:00Z")
    assert work("bert") == 1
    with CaptureQueriesContext(connection) as queries:
        result.refresh()
    assert len(queries) == 2
    assert (result.status, result.return_value, result.errors) == (TaskResultStatus.SUCCESSFUL, 2, [])
    assert (result.attempts, result.worker_ids) == (2, ["anna", "bert"])
    moments: list[Any] = [result.started_at, result.last_attempted_at]
    assert moments == sorted(set(moments))
    assert [what for what, _, _ in heard] == ["started", "started", "finished"]
    assert reload(int(result.id)).progress == 100


def test_attempts_that_are_used_up_finish_the_task_as_failed(work, heard):
    result = tasks.works_at.enqueue(9)
    assert work() == 3
    result.refresh()
    assert (result.status, result.attempts) == (TaskResultStatus.FAILED, 3)
    assert "attempt 3 does not work" in result.errors[0].traceback
    assert [what for what, _, _ in heard] == ["started", "started", "started", "finished"]


def test_who_asks_to_wait_has_not_finished(work, heard):
    result = tasks.waits.enqueue()
    assert work() == 1
    result.refresh()
    assert (result.status, result.attempts) == (TaskResultStatus.READY, 0)
    assert [what for what, _, _ in heard] == ["started"]


def test_a_cancelled_task_has_failed_and_says_why():
    result = tasks.noop.enqueue()
    cancel(int(result.id))
    result.refresh()
    assert (result.status, result.errors[0].exception_class) == (TaskResultStatus.FAILED, Cancelled)
    assert f"Job {result.id} was cancelled." in result.errors[0].traceback


def test_a_task_whose_process_died_has_failed_with_a_class_for_it():
    from jobs.handlers.base import Outcome
    from jobs.lifecycle.finish import finish_one

    result = tasks.noop.enqueue()
    finish_one(Outcome.crashed(claimed(job=reload(int(result.id))), "its process ended with exit code 3"))
    result.refresh()
    assert (result.status, result.errors[0].exception_class) == (TaskResultStatus.FAILED, AttemptEnded)
    assert "exit code 3" in result.errors[0].traceback


def test_a_retry_by_hand_begins_anew(work):
    result = tasks.fails.enqueue()
    work("anna")
    retry([int(result.id)])
    result.refresh()
    assert (result.status, result.errors, result.worker_ids) == (TaskResultStatus.READY, [], [])


def test_a_task_that_was_moved_to_a_queue_the_settings_do_not_name_keeps_its_result(settings):
    settings.TASKS = {"default": {"BACKEND": "jobs.tasks_backend.JobyardBackend", "QUEUES": ["default"]}}
    result = tasks.noop.enqueue()
    move_to_queue([int(result.id)], "elsewhere")
    assert task_backends["default"].get_result(result.id).task.queue_name == "elsewhere"


def test_a_receiver_that_fails_at_the_start_fails_the_task_and_one_at_the_end_does_not(work):
    def fail(**_: Any) -> None:
        raise LookupError("a broken receiver")

    task_finished.connect(fail)
    finished_well = tasks.meaning_of_life.enqueue()
    work()
    task_finished.disconnect(fail)
    task_started.connect(fail)
    never_began = tasks.meaning_of_life.enqueue()
    work()
    task_started.disconnect(fail)
    finished_well.refresh()
    never_began.refresh()
    assert finished_well.return_value == 42
    assert never_began.errors[0].exception_class is LookupError


@pytest.mark.parametrize(
    ("path", "error"),
    [
        ("tests.app.tasks.not_a_task", SuspiciousOperation),
        ("subprocess.check_output", SuspiciousOperation),
        ("os.system", SuspiciousOperation),
        ("missing.function", ImportError),
        ("tests.app.tasks.missing", ImportError),
        ("no_module", ImportError),
    ],
)
def test_nothing_but_a_task_is_ever_called(work, path, error):
    payload = {"path": path, "args": [["exit", "1"]], "kwargs": {}, "backend": "default"}
    job_id = enqueue("django.task", payload, max_attempts=1).job_id
    assert work() == 1
    job = reload(job_id)
    assert (job.status, job.attempt) == ("failed", 1)
    assert issubclass(import_string(job.last_error_class), error)
    with pytest.raises(error):
        task_backends["default"].get_result(str(job_id))


@pytest.mark.parametrize("text", ["", "abc", "0", "-1", "007", "１２", "9" * 30, str(2**63), "1.0", "1 ", None])
def test_what_is_no_id_has_no_result(text):
    with pytest.raises(TaskResultDoesNotExist):
        task_backends["default"].get_result(text)


def test_a_job_that_is_no_task_and_one_that_is_gone_have_no_result(work):
    with pytest.raises(TaskResultDoesNotExist):
        task_backends["default"].get_result(str(make_job().pk))
    Job.objects.all().delete()
    result = tasks.noop.enqueue()
    work()
    clear([int(result.id)])
    with pytest.raises(TaskResultDoesNotExist):
        result.refresh()


def test_a_result_is_read_by_one_query_and_belongs_to_its_task():
    result = tasks.noop.enqueue()
    with CaptureQueriesContext(connection) as queries:
        assert tasks.noop.get_result(result.id) == result
    assert len(queries) == 1
    with pytest.raises(Exception, match="Task does not match"):
        tasks.bare.get_result(result.id)


def test_a_first_attempt_costs_no_query_in_the_child(work):
    result = tasks.own_attempt.enqueue(1)
    with CaptureQueriesContext(connection) as queries:
        work()
    result.refresh()
    assert result.return_value["enqueued"]
    read = [query["sql"] for query in queries.captured_queries if query["sql"].startswith("SELECT")]
    assert not [sql for sql in read if "jobs_jobevent" in sql]
