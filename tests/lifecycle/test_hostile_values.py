"""Values and hooks that nobody foresaw: the outcome is recorded all the same, and nothing hangs."""

import json
from contextlib import suppress
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import IntegrityError

from jobs import Fatal
from jobs.exceptions import InvalidInput
from jobs.handlers.base import Outcome
from jobs.handlers.registry import Kind, handler, registry
from jobs.lifecycle.cancel import cancel
from jobs.lifecycle.enqueue import enqueue
from jobs.lifecycle.finish import complete, finish
from jobs.states import Status
from tests.factories import claimed, reload

pytestmark = pytest.mark.django_db


def endless() -> list[Any]:
    """Doubles with each level: two to the power of forty values, held by forty lists."""
    value: list[Any] = []
    for _ in range(40):
        value = [value, value]
    return value


class Exploding(dict):
    def items(self) -> Any:
        raise RuntimeError("dictionary changed size during iteration")


@pytest.fixture
def publishing():
    kind = Kind("test.publish", lambda ctx: None)
    registry.add(kind)
    yield kind
    registry.remove(kind.name)


def test_a_result_without_end_is_cut(settings):
    settings.JOBS_MAX_RESULT = 10_000
    claim = claimed()
    assert complete(claim, endless()).status == Status.COMPLETED
    assert '"cut": true' in json.dumps(reload(claim.job_id).result)


def test_a_payload_without_end_is_refused(settings):
    settings.JOBS_MAX_PAYLOAD = 10_000
    with pytest.raises(InvalidInput, match="more values"):
        enqueue("test.noop", {"x": endless()})


def test_a_value_that_explodes_fails_its_own_job_only():
    good, bad = claimed(queue="a"), claimed(queue="b")
    answers = finish([Outcome.completed(good, 1), Outcome.completed(bad, Exploding(x=1))])
    assert [answer.status for answer in answers] == [Status.COMPLETED, Status.PENDING]
    assert "changed size" in reload(bad.job_id).last_error


def test_a_hook_that_swallows_a_database_error_does_not_complete_the_job(publishing):
    User.objects.create(username="video")

    def publish(job, result):
        User.objects.update(first_name="published")
        with suppress(IntegrityError):
            User.objects.create(username="video")

    publishing.on_complete = publish
    claim = claimed(kind=publishing.name)
    assert complete(claim).status == Status.PENDING
    assert "its own atomic()" in reload(claim.job_id).last_error
    assert User.objects.get().first_name == ""


def test_a_hook_that_exits_fails_the_attempt(publishing):
    publishing.on_complete = lambda job, result: exit(3)
    assert complete(claimed(kind=publishing.name)).status == Status.PENDING


def test_a_fatal_hook_is_not_tried_again(publishing):
    def publish(job, result):
        raise Fatal("no such video")

    publishing.on_complete = publish
    assert complete(claimed(kind=publishing.name)).status == Status.FAILED


def test_a_failing_hook_of_a_job_with_a_cancel_request_cancels_it(publishing):
    def publish(job, result):
        raise OSError("disk full")

    publishing.on_complete = publish
    claim = claimed(kind=publishing.name)
    cancel(claim.job_id)
    assert complete(claim).status == Status.CANCELLED
    assert "disk full" in reload(claim.job_id).last_error


def test_a_function_that_would_run_nothing_is_refused():
    async def later_pieces(ctx):
        yield 1

    def pieces(ctx):
        yield 1

    for function in (later_pieces, pieces):
        with pytest.raises(InvalidInput, match="must not yield"):
            handler("test.pieces")(function)


@pytest.mark.parametrize("lease", [0, -5, float("nan"), 3e11, "long"])
def test_a_lease_that_cannot_work_is_refused_where_it_is_written(lease):
    with pytest.raises(InvalidInput, match="lease"):
        handler("test.leased", lease=lease)


def test_a_bare_handler_and_an_unknown_option_are_refused():
    with pytest.raises(InvalidInput, match="name of the kind"):
        handler(lambda ctx: None)  # type: ignore[arg-type]  # what a newcomer writes
    with pytest.raises(InvalidInput, match="no option 'qeue'"):
        handler("test.typo", qeue="slow")
