"""The thread of the test, whose connection sees what the test wrote: others borrow it."""

import asyncio
import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from asgiref.sync import async_to_sync
from django.db import DEFAULT_DB_ALIAS, connections

from jobs.handlers.calling import OnTask, attend

R = TypeVar("R")


class HomeThread:
    """Made in the test's thread. A handler may speak from any of its threads, and from an event loop."""

    def __init__(self) -> None:
        self._ident = threading.get_ident()
        self._connection = connections[DEFAULT_DB_ALIAS]
        self._turn = threading.Lock()

    def call(self, function: Callable[..., R], *arguments: Any) -> R:
        """Call it with the test's connection; inside of a TestCase's transaction no other one sees the job."""
        if threading.get_ident() == self._ident and not in_event_loop():
            return function(*arguments)
        with self._turn, ThreadPoolExecutor(1, "borrowing") as helper:  # where an event loop runs, Django refuses
            return helper.submit(self._borrowing, function, *arguments).result()

    def _borrowing(self, function: Callable[..., R], *arguments: Any) -> R:
        self._connection.inc_thread_sharing()
        connections[DEFAULT_DB_ALIAS] = self._connection
        try:
            return function(*arguments)
        finally:
            del connections[DEFAULT_DB_ALIAS]
            self._connection.dec_thread_sharing()


def in_event_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def run_awaitable_at_home(on_task: OnTask, awaitable: Awaitable[Any]) -> Any:
    """As a worker does, but the ORM's async methods work in the test's thread, as in Django's own async tests."""
    try:
        result, error = async_to_sync(ended)(on_task, awaitable)
    finally:
        if asyncio.iscoroutine(awaitable):
            awaitable.close()
    if error is not None:
        raise error
    return result


async def ended(on_task: OnTask, awaitable: Awaitable[Any]) -> tuple[Any, BaseException | None]:
    """An exception that passed through `async_to_sync` would keep its thread alive until garbage is collected."""
    try:
        return await attend(on_task, awaitable), None
    except BaseException as error:
        return None, error
