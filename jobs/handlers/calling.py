"""Calls a handler's function in the current thread, be it a plain one or `async def`."""

import asyncio
import inspect
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

from asgiref.sync import SyncToAsync, ThreadSensitiveContext, sync_to_async

from jobs.exceptions import InvalidInput

Cancel = Callable[[], None]
# Told how to cancel the task from another thread before it starts, and None when it is over.
OnTask = Callable[[Cancel | None], None]
# Runs what a coroutine function returned, to its end.
Awaiting = Callable[[OnTask, Awaitable[Any]], Any]


def run_function(on_task: OnTask, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
    """The function's result. Raises CancelledError where the task was cancelled: whoever did it knows why."""
    return run_with(run_awaitable, on_task, function, *args, **kwargs)


def run_with(awaiting: Awaiting, on_task: OnTask, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
    result = function(*args, **kwargs)
    if result is None:
        return None
    # Asked of the result, for a decorator may hide that the function is a coroutine function.
    if inspect.isgenerator(result) or inspect.isasyncgen(result):
        raise InvalidInput(f"The handler {function!r} returned a generator: none of it has been run.")
    return awaiting(on_task, result) if inspect.isawaitable(result) else result


def run_awaitable(on_task: OnTask, awaitable: Awaitable[Any]) -> Any:
    try:
        with asyncio.Runner() as runner:
            return runner.run(attend(on_task, awaitable))
    finally:
        if inspect.iscoroutine(awaitable):
            awaitable.close()  # one that was stopped before it began would warn that nobody awaited it


async def attend(on_task: OnTask, awaitable: Awaitable[Any]) -> Any:
    """Await it with a thread of its own for the ORM, whose connections end with it.

    Without that, the ORM of all async handlers would share one thread for ever, and a connection nobody looks after.
    """
    async with ThreadSensitiveContext() as threads:
        try:
            on_task(cancel_of_this_task())
            return await awaitable
        finally:
            on_task(None)
            if threads in SyncToAsync.context_to_thread_executor:
                await sync_to_async(close_connections)()


def cancel_of_this_task() -> Cancel:
    task, loop = asyncio.current_task(), asyncio.get_running_loop()
    assert task is not None

    def cancel() -> None:
        with suppress(RuntimeError):  # the loop is closed: the task is over
            loop.call_soon_threadsafe(task.cancel)

    return cancel


def close_connections() -> None:
    from django.db import connections  # only where a handler used it: a remote worker has no database

    connections.close_all()
