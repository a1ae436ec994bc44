"""Slots: where attempts run inside a child, one at a time each, and how one is interrupted."""

import ctypes
import logging
import signal
import threading
from collections.abc import Callable
from queue import SimpleQueue
from types import FrameType
from typing import Any, TypeVar

from jobs.logs import Event
from jobs.worker.attempt import Attempt, Interrupted

logger = logging.getLogger("jobs.worker")
R = TypeVar("R")
Work = Callable[[Attempt, "Slot"], None]
INTERRUPT = signal.SIGUSR1


class Slot:
    """A thread that takes attempts from the child's inbox until it finds None there."""

    def __init__(self, inbox: "SimpleQueue[Attempt | None]", work: Work) -> None:
        self.inbox, self.work = inbox, work
        self.current: Attempt | None = None
        self.cancel_task: Callable[[], None] | None = None  # while the handler is a coroutine
        self._lock = threading.Lock()

    def start(self) -> None:
        raise NotImplementedError

    def loop(self) -> None:
        while (attempt := self.inbox.get()) is not None:
            try:
                self.work(attempt, self)
            except Interrupted:
                pass  # it came when the attempt had just ended
            except Exception:
                logger.exception(Event("a slot failed", job=attempt.job.id))

    def run(self, attempt: Attempt, handle: Callable[[], R], when_stopped: Callable[[BaseException], R]) -> R:
        """What the attempt comes to. An interruption ends it and nothing else, and may come when it has just ended."""
        results: list[R] = []
        try:
            try:
                self.attach(attempt)
                results.append(handle())
            finally:
                self.attach(None)
        except BaseException as error:
            self.attach(None)
            if not results:
                results.append(when_stopped(error))
        return results[0]

    def interrupt(self, attempt: Attempt) -> None:
        """End the attempt wherever it is, if it still runs."""
        with self._lock:
            if self.current is not attempt:
                return
            if self.cancel_task:
                self.cancel_task()
            else:
                self._raise_in_handler()

    def attach(self, attempt: Attempt | None) -> None:
        """From here on (or, with None, no more) interruptions are about this attempt."""
        with self._lock:
            self.current = attempt
            if attempt is None:
                self._forget_interruption()

    def on_task(self, cancel: Callable[[], None] | None) -> None:
        self.cancel_task = cancel

    def _raise_in_handler(self) -> None:
        raise NotImplementedError

    def _forget_interruption(self) -> None:
        """One that was asked for and not yet delivered hits nobody else."""
        raise NotImplementedError


class ThreadSlot(Slot):
    """Interrupted between two instructions of Python: a call into C that waits is not; its process can be killed."""

    def start(self) -> None:
        self.thread = threading.Thread(target=self.loop, name="slot", daemon=True)
        self.thread.start()

    def _raise_in_handler(self) -> None:
        self._set_exception(ctypes.py_object(Interrupted))

    def _forget_interruption(self) -> None:
        self._set_exception(None)

    def _set_exception(self, exception: Any) -> None:
        ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(self.thread.ident or 0), exception)


class MainSlot(Slot):
    """Interrupted by a signal, which also ends most waits inside of C."""

    asked = False

    def start(self) -> None:
        """Its loop is run by the main thread itself."""
        signal.signal(INTERRUPT, self._on_signal)

    def insist(self) -> None:
        """A signal that comes right before a wait inside of C does not end it: send it again until it is noticed."""
        with self._lock:
            if self.asked:
                self._send_signal()

    def _raise_in_handler(self) -> None:
        self.asked = True
        self._send_signal()

    def _send_signal(self) -> None:
        signal.pthread_kill(threading.main_thread().ident or 0, INTERRUPT)

    def _forget_interruption(self) -> None:
        self.asked = False

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        if self.asked:
            self.asked = False
            raise Interrupted
