"""Plain and async functions run through one door, `ctx.call()`; what awaits can be interrupted from another thread."""

import asyncio
import functools
import threading
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.db import connection

from jobs.exceptions import Cancelled, InvalidInput
from jobs.handlers.context import Context
from jobs.models import Job
from tests.handlers.programs import PATIENT, WAIT, Family, Interruption, Running, interrupt, shell
from tests.handlers.reporter import Flags, Remembering, a_claimed_job


class Tasks:
    """What a worker does with `on_task`."""

    def __init__(self) -> None:
        self.told: list[Any] = []
        self.began = threading.Event()

    def on_task(self, cancel: Any) -> None:
        self.told.append(cancel)
        self.began.set()

    def cancel(self) -> None:
        assert self.began.wait(WAIT)
        self.told[0]()


@pytest.fixture
def tasks() -> Tasks:
    return Tasks()


@pytest.fixture
def flags() -> Flags:
    return Flags()


@pytest.fixture
def reporter() -> Remembering:
    return Remembering()


@pytest.fixture
def ctx(tasks: Tasks, flags: Flags, reporter: Remembering) -> Context:
    return Context(a_claimed_job(), reporter, flags, on_task=tasks.on_task)


def test_a_plain_function_is_called(ctx: Context, tasks: Tasks):
    assert ctx.call(lambda ctx, a, b=1: (ctx.job_id, a, b), a=5) == (7, 5, 1)
    assert tasks.told == []


def test_an_async_function_is_run_in_this_thread_and_may_use_the_context(ctx: Context, reporter: Remembering):
    async def handle(ctx: Context, a: int) -> tuple[int, threading.Thread]:
        await asyncio.sleep(0)
        ctx.progress(50)
        return a, threading.current_thread()

    assert ctx.call(handle, a=5) == (5, threading.current_thread())
    assert reporter.progress == [50]


def test_a_decorator_that_hides_the_coroutine_does_not_make_it_a_job_undone(ctx: Context):
    async def handle(ctx: Context) -> str:
        return "done"

    @functools.wraps(handle)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        return handle(*args, **kwargs)

    assert ctx.call(wrapped) == ctx.call(functools.partial(handle)) == "done"


def test_a_decorator_that_hides_a_generator_is_found_out(ctx: Context):
    with pytest.raises(InvalidInput, match="returned a generator: none of it has been run"):
        ctx.call(lambda ctx: (n for n in range(3)))


def test_what_an_async_function_raises_comes_out(ctx: Context, tasks: Tasks):
    async def handle(ctx: Context) -> None:
        raise KeyError("missing")

    with pytest.raises(KeyError, match="missing"):
        ctx.call(handle)
    assert tasks.told[1:] == [None]


@pytest.mark.parametrize("names", [["self", "function", "context", "ctx"], ["on_task", "args", "kwargs", "job"]])
def test_no_key_of_a_payload_clashes_with_ours(ctx: Context, names):
    payload = dict.fromkeys(names, 1)
    assert ctx.call(lambda _, /, **payload: payload, **payload) == payload

    async def handle(_: Context, /, **payload: int) -> dict[str, int]:
        return payload

    assert ctx.call(handle, **payload) == payload


def test_what_awaits_is_cancelled_from_another_thread(ctx: Context, tasks: Tasks):
    tidied = threading.Event()

    async def handle(ctx: Context) -> None:
        try:
            await asyncio.sleep(300)
        finally:
            tidied.set()

    running = Running(lambda: ctx.call(handle))
    tasks.cancel()
    assert isinstance(running.ended().error, asyncio.CancelledError)
    assert tidied.is_set()
    assert tasks.told[1:] == [None]
    tasks.cancel()  # it comes too late, and does no harm


def test_a_worker_may_cancel_before_the_function_begins(flags: Flags):
    began: list[int] = []

    async def handle(ctx: Context) -> None:
        began.append(1)
        await asyncio.sleep(300)

    ctx = Context(a_claimed_job(), Remembering(), flags, on_task=lambda cancel: cancel() if cancel else None)
    with pytest.raises(asyncio.CancelledError):
        ctx.call(handle)


def test_a_worker_that_refuses_leaves_no_warning(flags: Flags):
    def refuse(cancel: Any) -> None:
        raise Cancelled(job_id=7)

    async def handle(ctx: Context) -> None:
        """Never begun."""

    with pytest.raises(Cancelled):
        Context(a_claimed_job(), Remembering(), flags, on_task=refuse).call(handle)


def test_one_that_never_awaits_is_interrupted_like_a_plain_one(ctx: Context):
    spinning = threading.Event()

    async def handle(ctx: Context) -> None:
        while True:
            spinning.set()

    running = Running(lambda: ctx.call(handle))
    assert spinning.wait(WAIT)
    interrupt(running)
    assert isinstance(running.ended().error, Interruption)


def test_a_program_run_from_an_async_function_ends_when_it_is_cancelled(ctx: Context, tasks: Tasks):
    family = Family()

    async def handle(ctx: Context) -> None:
        await asyncio.to_thread(ctx.run, shell(PATIENT), on_line=family.hear)

    running = Running(lambda: ctx.call(handle))
    assert family.all_told.wait(WAIT)
    tasks.cancel()
    assert isinstance(running.ended().error, asyncio.CancelledError)
    family.wait_until_gone()


def test_an_order_reaches_a_program_run_from_an_async_function(ctx: Context, flags: Flags):
    family = Family(then=lambda: setattr(flags, "cancelled", True))

    async def handle(ctx: Context) -> None:
        await asyncio.to_thread(ctx.run, shell(PATIENT), on_line=family.hear)

    with pytest.raises(Cancelled):
        ctx.call(handle)
    family.wait_until_gone()


@pytest.mark.django_db(transaction=True)
def test_the_orm_of_an_async_function_has_a_thread_whose_connection_is_closed_with_it(ctx: Context):
    seen: dict[str, Any] = {}

    def look() -> None:
        seen["thread"], seen["connection"] = threading.current_thread(), connection._connections["default"]  # type: ignore[attr-defined]

    async def handle(ctx: Context) -> int:
        count = await Job.objects.acount()
        await sync_to_async(look)()
        assert seen["connection"].connection is not None
        return count

    assert ctx.call(handle) == 0
    assert seen["thread"] is not threading.current_thread()
    for helper in [each for each in threading.enumerate() if each.name.endswith("(join)")]:
        helper.join(WAIT)  # asgiref's own, which waited for the thread and is about to end
    assert not seen["thread"].is_alive()
    assert seen["connection"].connection is None
