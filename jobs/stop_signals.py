"""The signals by which a process is asked to stop, and how one notices them."""

import signal
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from types import FrameType

STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT)


@contextmanager
def signals_caught(note: Callable[[int], None], signals: Collection[signal.Signals] = STOP_SIGNALS) -> Iterator[None]:
    """Calls `note` in the main thread, wherever that is: it must take no lock that the thread may hold."""

    def on_signal(number: int, frame: FrameType | None) -> None:
        note(number)

    heeded = [number for number in signals if signal.getsignal(number) != signal.SIG_IGN]  # as nohup wants it
    before = {number: signal.signal(number, on_signal) for number in heeded}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
