"""Programs for handlers to run, which say who they are, and a way to see that nobody of them is left."""

import ctypes
import os
import select
import signal
import sys
import threading
from collections.abc import Callable
from contextlib import suppress

WAIT = 20.0  # far longer than anything here takes

# Each says its number and that of a child of its own, then waits for a signal.
PATIENT = "echo $$; sleep 300 & echo $!; wait"
STUBBORN = "trap '' TERM; echo $$; sh -c 'trap \"\" TERM; echo $$; while :; do sleep 300; done' & wait; wait"


def python(program: str) -> list[str]:
    return [sys.executable, "-c", program]


def shell(program: str) -> list[str]:
    return ["sh", "-c", program]


class Family:
    """Takes the lines of such a program; `all_told` is set when both have said their number."""

    def __init__(self, then: Callable[[], object] = lambda: None, members: int = 2) -> None:
        self._then, self._members = then, members
        self._watches: dict[int, int] = {}
        self.all_told = threading.Event()

    def hear(self, line: str) -> None:
        self._watches[int(line)] = os.pidfd_open(int(line))
        if len(self._watches) == self._members:
            self.all_told.set()
            self._then()

    def wait_until_gone(self) -> None:
        """Fails when one of them lives on."""
        assert len(self._watches) == self._members
        try:
            for pid, watch in self._watches.items():
                gone, _, _ = select.select([watch], [], [], WAIT)
                assert gone, f"process {pid} lives on"
        finally:
            for pid, watch in self._watches.items():
                os.close(watch)
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)


class Interruption(BaseException):
    """What a worker raises in a thread that does not listen."""


def interrupt(thread: threading.Thread) -> None:
    assert thread.ident
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread.ident), ctypes.py_object(Interruption))


class Running(threading.Thread):
    """Runs something in a thread and remembers what came of it."""

    def __init__(self, what: Callable[[], object]) -> None:
        super().__init__()
        self._what = what
        self.result: object = None
        self.error: BaseException | None = None
        self.start()

    def run(self) -> None:
        try:
            self.result = self._what()
        except BaseException as error:
            self.error = error

    def ended(self) -> "Running":
        self.join(WAIT)
        assert not self.is_alive(), "it runs on"
        return self
