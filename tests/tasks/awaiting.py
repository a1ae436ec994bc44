"""Async calls from a test that is not: on the test's own connection, and with no thread left behind."""

import gc
import threading
from collections.abc import Awaitable, Callable
from typing import Any

from asgiref.sync import async_to_sync

from tests.concurrency.threads import wait_until


def awaited(function: Callable[..., Awaitable[Any]], *args: Any) -> Any:
    before = threading.active_count()
    try:
        return async_to_sync(function)(*args)
    finally:
        gc.collect()  # the thread of its event loop ends when nobody refers to it any more
        wait_until(lambda: threading.active_count() <= before)
