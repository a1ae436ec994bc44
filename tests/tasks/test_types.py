"""What type checkers know of a task. As in tests/handlers/test_enqueueing.py, `make check` runs these.

A task of the framework's own decorator is typed by django-stubs; ours is, with its options, by this package.
"""

from typing import TYPE_CHECKING, Any, assert_type

from jobs.tasks_backend import JobyardTask, task
from tests.app import tasks

if TYPE_CHECKING:
    from django.tasks import TaskResult

    assert_type(tasks.gives_up, JobyardTask[[], None])
    assert_type(tasks.alone.enqueue(number=1).return_value, int)
    assert_type(tasks.works_at.enqueue(2).return_value, int)  # without the context
    assert_type(tasks.gives_up.using(dedupe_key="k"), JobyardTask[[], None])
    assert_type(tasks.gives_up.enqueue(), TaskResult[[], None])
    tasks.alone.enqueue("one")  # type: ignore[arg-type]
    tasks.alone.enqueue()  # type: ignore[call-arg]
    tasks.works_at.using(max_attempts="many")  # type: ignore[arg-type]
    tasks.works_at.using(retries=3)  # type: ignore[call-arg]
    task(max_attempts=2)
    task(isolation="fork")  # type: ignore[call-overload]


@task
def plain(number: int) -> str:
    return str(number)


def test_a_bare_decorator_makes_a_task_of_ours():
    made: JobyardTask[Any, Any] = plain
    assert type(made) is JobyardTask
    assert made.call(3) == "3"
