"""Ways to see that somebody opened a file or a connection: the kernel tells."""

import ctypes
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

IN_ACCESS, IN_OPEN = 0x01, 0x20


class Watch:
    """`was_opened` says whether anybody opened or read a file since the watch began."""

    def __init__(self, path: Path) -> None:
        libc = ctypes.CDLL(None, use_errno=True)
        self._events = libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        assert libc.inotify_add_watch(self._events, os.fsencode(path), IN_OPEN | IN_ACCESS) >= 0, ctypes.get_errno()

    @property
    def was_opened(self) -> bool:
        try:
            return bool(os.read(self._events, 4096))
        except BlockingIOError:
            return False

    def close(self) -> None:
        os.close(self._events)


@contextmanager
def watched(path: Path) -> Iterator[Watch]:
    watch = Watch(path)
    try:
        yield watch
    finally:
        watch.close()


class Listener:
    """`was_called` says whether anybody connected."""

    def __init__(self) -> None:
        self._socket = socket.create_server(("127.0.0.1", 0))
        self._socket.setblocking(False)
        self.port: int = self._socket.getsockname()[1]

    @property
    def was_called(self) -> bool:
        try:
            self._socket.accept()[0].close()
        except BlockingIOError:
            return False
        return True

    def close(self) -> None:
        self._socket.close()


@contextmanager
def listening() -> Iterator[Listener]:
    listener = Listener()
    try:
        yield listener
    finally:
        listener.close()
