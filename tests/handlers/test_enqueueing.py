"""`build.enqueue(month=5)`: a decorated function and a pipeline enqueue themselves, and type checkers know how.

What mypy must refuse carries an ignore, and an ignore that is not needed is an error: `make check` tests the types.
"""

import inspect
from collections.abc import Iterator
from dataclasses import fields
from datetime import datetime
from typing import TYPE_CHECKING, Any, assert_type

import pytest

from jobs import NewJob, handler, pipeline
from jobs.exceptions import InvalidInput
from jobs.handlers.context import Context
from jobs.handlers.enqueueing import Door, Enqueued, Enqueuer, JobOptions, NoQueue
from jobs.handlers.registry import registry
from jobs.lifecycle.enqueue import enqueue
from jobs.models import Job
from tests.factories import reload


@handler("typed.build", queue="reports")
def build(ctx: Context, report_id: int, title: str = "untitled") -> dict[str, int]:
    return {"report": report_id}


@handler("typed.open")
async def takes_all(ctx: Context, **payload: Any) -> None: ...


@handler("typed.listed")
def takes_a_list(ctx: Context, *numbers: int) -> None: ...


printing = pipeline("typed.print")


@printing.phase("typeset")
def typeset(ctx: Context, title: str) -> None: ...


@printing.phase("bind")
def bind(ctx: Context, title: str, colour: str = "black") -> None: ...


KINDS = [registry.get(name) for name in ("typed.build", "typed.open", "typed.listed", "typed.print")]
for kind in KINDS:
    registry.remove(kind.name)


@pytest.fixture(autouse=True)
def _kinds() -> Iterator[None]:
    """Other tests need not know them."""
    for kind in KINDS:
        registry.add(kind)
    yield
    for kind in KINDS:
        registry.remove(kind.name)


@pytest.mark.django_db
def test_a_decorated_function_enqueues_itself_with_its_arguments_by_name():
    answer = build.enqueue(3, title="May")
    job = reload(answer.job_id)
    assert (job.kind, job.queue, job.payload) == ("typed.build", "reports", {"report_id": 3, "title": "May"})
    assert (answer.created, answer.enqueued_at) == (True, job.enqueued_at)
    assert reload(build.enqueue(report_id=4).job_id).payload == {"report_id": 4}
    assert reload(takes_all.enqueue(a=1, b=[2]).job_id).payload == {"a": 1, "b": [2]}


@pytest.mark.django_db
def test_using_says_how_and_adds_up():
    urgent = build.using(priority=9, subject="a report")
    job = reload(urgent.using(queue="slow", max_attempts=2).enqueue(3).job_id)
    assert (job.priority, job.subject, job.queue, job.max_attempts) == (9, "a report", "slow", 2)
    assert build.using(unique="active").enqueue(5).created
    assert not build.using(unique="active").enqueue(5).created


def test_an_option_that_no_job_has_is_refused_where_it_is_written():
    calls: list[Any] = [build.using, lambda **options: enqueue("typed.build", {"report_id": 1}, **options)]
    for call in calls:
        with pytest.raises(InvalidInput, match=r"^A job has no option 'prio'; choose from queue, priority, "):
            call(prio=3)


@pytest.mark.django_db
def test_a_pipeline_enqueues_itself_if_every_phase_takes_the_payload():
    assert reload(printing.enqueue(title="Dune").job_id).payload == {"title": "Dune"}
    assert reload(printing.using(queue="slow").enqueue(title="Dune").job_id).queue == "slow"
    with pytest.raises(InvalidInput, match=r"'typed.print' was called wrongly: got an unexpected keyword argument 'c"):
        printing.enqueue(title="Dune", colour="red")  # the first phase does not take it


def test_the_function_is_still_the_function_it_was():
    assert inspect.isfunction(build)
    assert registry.get("typed.build").function is build
    assert build(None, 3) == {"report": 3}
    assert build.__name__ == "build"


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (((), {}), "missing a required argument: 'report_id'"),
        (((1, "May", 2), {}), "too many positional arguments"),
        (((), {"report_id": 1, "titel": "May"}), "unexpected keyword argument 'titel'"),
    ],
)
def test_arguments_that_the_handler_would_not_take_are_refused_at_once(arguments, words):
    args, kwargs = arguments
    with pytest.raises(InvalidInput, match=f"enqueue.. of 'typed.build' was called wrongly: .*{words}"):
        build.enqueue(*args, **kwargs)
    assert not Job.objects.exists()


def test_a_payload_has_names_only():
    with pytest.raises(InvalidInput, match="pass its arguments by name"):
        takes_a_list.enqueue(1, 2)


def test_without_the_app_there_is_no_queue(monkeypatch):
    monkeypatch.setattr(Door, "enqueue", None)
    with pytest.raises(NoQueue, match=r"'typed.build' cannot be enqueued here"):
        build.enqueue(1)


def test_a_bound_method_may_be_a_handler_but_takes_no_attributes():
    class Reports:
        def build(self, ctx: Context, month: int) -> None: ...

    method = Reports().build
    try:
        assert handler("typed.method")(method) is method
    finally:
        registry.remove("typed.method")


def test_every_option_of_a_new_job_can_be_given_to_using():
    assert set(JobOptions.__annotations__) == {each.name for each in fields(NewJob)} - {"kind", "payload"}


if TYPE_CHECKING:
    assert_type(build.enqueue(3), Enqueued)
    assert_type(build.enqueue(report_id=3, title="May"), Enqueued)
    assert_type(build(Context.__new__(Context), 3), dict[str, int])
    assert_type(printing.enqueue(title="Dune"), Enqueued)
    assert_type(printing.using(priority=1), Enqueuer[...])
    build.using(queue="slow", run_after=datetime.now()).enqueue(3)
    build.enqueue()  # type: ignore[call-arg]
    build.enqueue("three")  # type: ignore[arg-type]
    build.enqueue(report_id=3, titel="May")  # type: ignore[call-arg]
    build.using(priority=1).enqueue(report_id="three")  # type: ignore[arg-type]
    build.using(prioritee=1)  # type: ignore[call-arg]
    build.using(unique="sometimes")  # type: ignore[arg-type]
    printing.using(queue=5)  # type: ignore[arg-type]
    enqueue("typed.build", {"report_id": 3}, priority="high")  # type: ignore[arg-type]

    @handler("typed.without-context")  # type: ignore[arg-type]
    def without_context() -> None: ...
