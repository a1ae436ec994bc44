"""Hears that the server is told to stop: it waits for its answers to be complete, and some would never be."""

import signal
import threading
from collections.abc import Callable
from typing import Any


class Stopping:
    """`then` is called from a signal handler, so it takes no lock."""

    def __init__(self, then: Callable[[], None]) -> None:
        self._then = then
        self._watches = self.is_told = False

    def watch(self) -> None:
        """From the first call on, which must come when the server has set its own handlers; only a main thread can."""
        if self._watches or threading.current_thread() is not threading.main_thread():
            return
        self._watches = True
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGQUIT):
            before = signal.getsignal(number)
            if callable(before):  # else the process ends at once anyway
                signal.signal(number, self._before(before))

    def _before(self, then: Callable[[int, Any], Any]) -> Callable[[int, Any], Any]:
        def handle(number: int, where: Any) -> Any:
            self.is_told = True
            self._then()
            return then(number, where)

        return handle
