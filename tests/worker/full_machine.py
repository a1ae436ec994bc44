"""A machine that is at its limit of processes, or of threads, for a while: root, as whom tests may run, has none."""

import errno
import os
import threading
from pathlib import Path
from time import monotonic

import pytest


class FullMachine:
    """Only what this process forks has no room; it must be there before that is forked."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.full, self.since = folder / "full", folder / "since"
        self.here, self.monkeypatch = os.getpid(), monkeypatch

    def fill(self, seconds: float) -> None:
        """For so long, from when somebody is refused for the first time."""
        self.full.write_text(str(seconds))

    def empty(self) -> None:
        self.full.unlink()

    def has_room(self) -> bool:
        if os.getpid() == self.here or not self.full.exists():
            return True
        if not self.since.exists():
            self.since.write_text(str(monotonic()))
        return monotonic() >= float(self.since.read_text()) + float(self.full.read_text())

    def limit_processes(self) -> None:
        fork = os.fork

        def fork_if_there_is_room() -> int:
            if not self.has_room():
                raise BlockingIOError(errno.EAGAIN, "Resource temporarily unavailable")
            return fork()

        self.monkeypatch.setattr(os, "fork", fork_if_there_is_room)

    def limit_threads(self) -> None:
        start = threading.Thread.start

        def start_if_there_is_room(thread: threading.Thread) -> None:
            if not self.has_room():
                raise RuntimeError("can't start new thread")
            start(thread)

        self.monkeypatch.setattr(threading.Thread, "start", start_if_there_is_room)
