"""Real threads for row races: each with a connection of its own, closed at its end, and none left behind."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Generic, TypeVar

from django.db import connection, transaction

from tests.patience import PATIENCE

R = TypeVar("R")
TIMEOUT = PATIENCE


class Running(Generic[R]):
    """A function that runs in a thread: `Running(partial(complete, ref)).result()`."""

    value: R

    def __init__(self, function: Callable[[], R], barrier: threading.Barrier | None = None) -> None:
        self.function, self.barrier = function, barrier
        self.error: BaseException | None = None
        self.connected = threading.Event()
        self.backend_pid = 0
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()

    def _run(self) -> None:
        try:
            self._connect()
            if self.barrier:
                self.barrier.wait(TIMEOUT)
            self.value = self.function()
        except BaseException as error:
            self.error = error
        finally:
            connection.close()
            self.connected.set()  # also when it could not connect: nobody waits in vain

    def _connect(self) -> None:
        connection.ensure_connection()
        if connection.vendor == "postgresql":
            with connection.cursor() as cursor:
                cursor.execute(f"SET statement_timeout = '{TIMEOUT:.0f}s'")
                cursor.execute("SELECT pg_backend_pid()")
                self.backend_pid = cursor.fetchone()[0]
        self.connected.set()

    def result(self) -> R:
        """What the function returned; raises what it raised."""
        self.thread.join(TIMEOUT)
        assert not self.thread.is_alive(), "the thread did not end"
        if self.error:
            raise self.error
        return self.value

    def wait_until_blocked(self) -> None:
        """Return once the thread waits for a lock of another transaction (of the caller's, most likely)."""
        assert self.connected.wait(TIMEOUT)
        wait_until(lambda: self.is_blocked() or not self.thread.is_alive())
        assert self.thread.is_alive(), f"it ended without waiting for a lock: {self.error or self.value!r}"

    def is_blocked(self) -> bool:
        # Not pg_stat_activity: within a transaction that shows the moment it was first looked at.
        return bool(scalar("SELECT cardinality(pg_blocking_pids(%s))", self.backend_pid))


def scalar(statement: str, *parameters: Any) -> Any:
    with connection.cursor() as cursor:
        cursor.execute(statement, parameters)
        return cursor.fetchone()[0]


def wait_until(condition: Callable[[], bool], seconds: float = TIMEOUT) -> None:
    """Poll for what sends no signal, with a bound."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.005)


def together(functions: list[Callable[[], R]]) -> list[R]:
    """Run the functions at once, as close together as a barrier brings them; the first error is raised."""
    barrier = threading.Barrier(len(functions))
    threads = [Running(function, barrier) for function in functions]
    for running in threads:
        running.thread.join(TIMEOUT)
    return [running.result() for running in threads]


class RolledBack(Exception):
    """Undoes a transaction of a test."""


@contextmanager
def rolled_back() -> Iterator[None]:
    """A transaction that never commits."""
    try:
        with transaction.atomic():
            yield
            raise RolledBack
    except RolledBack:
        pass
