"""Enqueueing through the framework: what goes in, what is given back, what is refused."""

from datetime import datetime, timedelta
from typing import Any

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from jobs import enqueue
from jobs.models import Job
from jobs.states import Status
from jobs.tasks.compat import InvalidTask, TaskResultStatus, task_backends, task_enqueued
from jobs.tasks_backend import JobyardBackend, JobyardTask
from tests.app import tasks
from tests.factories import job_in, reload
from tests.tasks.awaiting import awaited

pytestmark = pytest.mark.django_db

noop: Any = tasks.noop  # to django-stubs it has no options of ours: the settings say that it has


def set_backend(settings: Any, **params: Any) -> None:
    settings.TASKS = {"default": {"BACKEND": "jobs.tasks_backend.JobyardBackend", **params}}


@pytest.mark.parametrize("task", [tasks.noop, tasks.bare, tasks.noop_async])
def test_a_task_becomes_a_job_and_its_result_says_what_is_known(task):
    heard = []

    def hear(sender: Any, task_result: Any, **_: Any) -> None:
        heard.append((sender, task_result))

    task_enqueued.connect(hear)
    try:
        result = task.enqueue(1, two=3)
    finally:
        task_enqueued.disconnect(hear)
    assert heard == [(JobyardBackend, result)]
    assert (result.task, result.status, result.is_finished) == (task, TaskResultStatus.READY, False)
    assert (result.args, result.kwargs, result.attempts, result.backend) == ([1], {"two": 3}, 0, "default")
    assert (result.started_at, result.last_attempted_at, result.finished_at, result.errors) == (None, None, None, [])
    with pytest.raises(ValueError, match="has not finished yet"):
        _ = result.return_value
    job = reload(int(result.id))
    assert (job.kind, job.queue, job.subject, job.status) == ("django.task", "default", task.module_path, "pending")
    assert result.enqueued_at == job.enqueued_at


def test_enqueueing_from_async_code_is_the_same():
    result = awaited(tasks.noop_async.aenqueue, 1)
    assert awaited(task_backends["default"].aget_result, result.id) == result
    assert awaited(tasks.noop_async.aget_result, result.id) == result


def statements_of(enqueue_one: Any) -> list[list[str]]:
    with CaptureQueriesContext(
        connection,
    ) as seen:
        enqueue_one()
    return [query["sql"].split(" ", 2)[:2] for query in seen.captured_queries]


def test_it_takes_the_statements_of_a_job_and_no_more(db):
    tasks.noop.enqueue()  # what is built once is built now
    plain = statements_of(lambda: enqueue("django.task", {}, allow_unknown=True))
    assert statements_of(tasks.noop.enqueue) == plain


def test_what_using_says_is_what_the_job_does():
    later = timezone.now() + timedelta(hours=1)
    result = tasks.noop.using(priority=7, queue_name="slow", run_after=later).enqueue()
    job = reload(int(result.id))
    assert (job.priority, job.queue, job.run_after, job.hold) == (7, "slow", later, "scheduled")
    again = task_backends["default"].get_result(result.id)
    assert again == result
    assert (again.task.priority, again.task.queue_name, again.task.run_after) == (7, "slow", later)


@pytest.mark.django_db(transaction=True)
def test_a_task_is_a_row_of_the_transaction_it_was_enqueued_in():
    with transaction.atomic():
        result = tasks.noop.enqueue()
        assert Job.objects.filter(pk=result.id).exists()
        transaction.set_rollback(True)
    assert not Job.objects.exists()


@pytest.mark.parametrize(
    ("argument", "error", "words"),
    [
        (object(), TypeError, "Unsupported type"),
        (b"\xff", ValueError, "Unsupported value"),
        (float("nan"), ValueError, r"payload\['args'\]\[0\] is nan"),
        ("a\0b", ValueError, "NUL"),
        ("x" * 2_000_000, ValueError, "JOBS_MAX_PAYLOAD"),
    ],
)
def test_arguments_that_json_does_not_have_are_refused_when_they_are_given(argument, error, words):
    with pytest.raises(error, match=words):
        tasks.noop.enqueue(argument)
    assert not Job.objects.exists()


def test_arguments_are_stored_as_json_gives_them_back(work):
    result = tasks.echo.enqueue((1, 2), b"text", number={1: None})
    work()
    result.refresh()
    assert result.return_value == [[[1, 2], "text"], {"number": {"1": None}}]


def test_a_queue_that_the_settings_do_not_name_is_refused(settings):
    task = tasks.noop.using(queue_name="slow")
    set_backend(settings, QUEUES=["default"])
    with pytest.raises(InvalidTask, match="Queue 'slow' is not valid"):
        task.enqueue()
    tasks.noop.enqueue()
    set_backend(settings, QUEUES=[])
    task.enqueue()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"priority": 101}, "between -100 and 100"),
        ({"priority": 1.5}, "whole number"),
        ({"run_after": datetime(2030, 1, 1)}, "aware"),
        ({"queue_name": "no blanks"}, "'no blanks' is not valid: use 1 to 100 letters"),
        ({"max_attempts": 0}, "max_attempts of 'tests.app.tasks.noop' is 0; it must be a whole number from 1"),
        ({"isolation": "yes"}, "'thread' or 'process'"),
        ({"backoff": "soon"}, "exponential:10:3600"),
    ],
)
def test_options_that_cannot_work_are_refused_where_they_are_written(options, words):
    with pytest.raises(InvalidTask, match=words):
        tasks.noop.using(**options)


def test_a_name_that_using_does_not_know_is_refused():
    with pytest.raises(TypeError, match="no option 'retries'; choose from backend, backoff"):
        noop.using(retries=3)


def test_a_task_that_a_worker_would_not_find_is_refused_when_it_is_enqueued():
    with pytest.raises(InvalidTask, match=r"'tests.app.tasks.hidden'.* under its own name"):
        tasks.shown.enqueue()


def test_a_nested_function_is_no_task():
    def inside() -> None: ...

    with pytest.raises(InvalidTask, match="module level"):
        JobyardTask(func=inside)


def test_options_of_our_own_reach_the_job_and_plain_tasks_are_tried_once():
    job = reload(int(tasks.alone.enqueue(1).id))
    assert (job.kind, job.max_runtime, job.subject, job.scope) == (
        "django.task.isolated", timedelta(seconds=30), "a title", "library-1",
    )  # fmt: skip
    assert reload(int(tasks.works_at.enqueue(1).id)).backoff == "fixed:0"
    assert [reload(int(task.enqueue().id)).max_attempts for task in (tasks.noop, tasks.gives_up)] == [1, 3]
    assert reload(int(noop.using(max_attempts=9, subject="other").enqueue().id)).max_attempts == 9


def test_the_backend_s_options_hold_for_tasks_that_say_nothing(settings):
    set_backend(settings, OPTIONS={"max_attempts": 4, "isolation": "process", "max_runtime": 60})
    job = reload(int(tasks.noop.enqueue().id))
    assert (job.max_attempts, job.kind, job.max_runtime) == (4, "django.task.isolated", timedelta(seconds=60))
    job = reload(int(noop.using(max_attempts=2, isolation="thread").enqueue().id))
    assert (job.max_attempts, job.kind) == (2, "django.task")


def test_the_same_task_with_the_same_arguments_is_there_once_if_it_is_unique():
    heard = []

    def hear(task_result: Any, **_: Any) -> None:
        heard.append(task_result.id)

    first = tasks.alone.enqueue(1)
    task_enqueued.connect(hear)
    try:
        later = tasks.alone.using(run_after=timezone.now() + timedelta(days=1)).enqueue(1)
        other = tasks.alone.enqueue(2)
    finally:
        task_enqueued.disconnect(hear)
    assert (later.id == first.id, other.id == first.id) == (True, False)
    assert heard == [other.id]


def test_a_key_of_the_callers_own_keeps_others_away():
    first = noop.using(dedupe_key="k").enqueue(1)
    assert noop.using(dedupe_key="k").enqueue(2).id == first.id
    job_in(Status.PENDING, dedupe_key="taken")
    with pytest.raises(InvalidTask, match="which is no task, has the same dedupe key"):
        noop.using(dedupe_key="taken").enqueue()


def test_a_task_of_ours_runs_with_any_other_backend_too(settings):
    name = "django.tasks" if task_backends.__module__ == "django.tasks" else "django_tasks"
    settings.TASKS = {"default": {"BACKEND": f"{name}.backends.immediate.ImmediateBackend"}}
    assert tasks.gives_up.using(dedupe_key="k").enqueue().status == TaskResultStatus.FAILED


def test_the_backend_says_that_it_can_all():
    backend = task_backends["default"]
    assert isinstance(backend, JobyardBackend)
    assert backend.supports_defer
    assert backend.supports_async_task
    assert backend.supports_get_result
    assert backend.supports_priority
