"""A small TCP proxy whose packets can be dropped without a word, and whose connections can be reset."""

import ctypes
import selectors
import socket
import struct
import threading
from contextlib import suppress
from types import TracebackType

CHUNK = 64 * 1024
# A filter of the kernel's that lets no packet through: not even an acknowledgement is sent, as if a cable was cut.
SO_ATTACH_FILTER, SO_DETACH_FILTER = 26, 27
NOTHING = ctypes.create_string_buffer(struct.pack("HBBI", 0x06, 0, 0, 0))
PROGRAM = struct.pack("HxxxxxxP", 1, ctypes.addressof(NOTHING))
RESET = struct.pack("ii", 1, 0)  # linger for no time at all: the other side is told "reset", not "end"


def readable(sockets: list[socket.socket]) -> list[socket.socket]:
    with selectors.DefaultSelector() as selector:
        for each in sockets:
            with suppress(ValueError, OSError):  # closed a moment ago
                selector.register(each, selectors.EVENT_READ, each)
        return [key.data for key, _ in selector.select(0.05)]


class Proxy:
    """`with Proxy(port) as proxy: … proxy.port; proxy.drop(); proxy.heal(); proxy.forget(); proxy.reset()`"""

    def __init__(self, target: int) -> None:
        self.target = target
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.port = int(self.listener.getsockname()[1])
        self.pairs: dict[socket.socket, socket.socket] = {}
        self.forgotten: list[socket.socket] = []
        self.dropping, self._over = False, False
        self._lock = threading.RLock()
        self._thread = threading.Thread(target=self._run, name=f"proxy {self.port}")

    def __enter__(self) -> "Proxy":
        self._thread.start()
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._over = True
        self._thread.join()
        self.reset()
        self.listener.close()

    def drop(self) -> None:
        """From now on nothing gets through, nor is anybody told so."""
        with self._lock:
            self.dropping = True
            for each in (self.listener, *self.pairs):
                each.setsockopt(socket.SOL_SOCKET, SO_ATTACH_FILTER, PROGRAM)

    def heal(self) -> None:
        """What was sent meanwhile arrives, as soon as the kernel sends it again."""
        with self._lock:
            self.dropping = False
            for each in (self.listener, *self.pairs):
                with suppress(OSError):  # one that has no filter
                    each.setsockopt(socket.SOL_SOCKET, SO_DETACH_FILTER, 0)

    def forget(self) -> None:
        """As a firewall does: what is open now is dead and is not told so; whoever connects anew gets through."""
        with self._lock:
            for each in self.pairs:
                each.setsockopt(socket.SOL_SOCKET, SO_ATTACH_FILTER, PROGRAM)
            self.forgotten += self.pairs
            self.pairs = {}

    def reset(self) -> None:
        with self._lock:
            for each in (*self.forgotten, *self.pairs):
                each.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
            for each in (*self.forgotten, *self.pairs):
                self._forget(each)
            self.forgotten = []

    def _forget(self, one: socket.socket) -> None:
        other = self.pairs.pop(one, None)
        one.close()
        if other is not None and self.pairs.get(other) is one:
            self._forget(other)

    def _run(self) -> None:
        while not self._over:
            with self._lock:
                sockets = [] if self.dropping else [self.listener, *self.pairs]
            ready = readable(sockets)
            with self._lock:
                for each in () if self.dropping else ready:
                    if each is self.listener:
                        self._accept()
                    else:
                        self._pass_on(each)

    def _accept(self) -> None:
        near, _ = self.listener.accept()
        try:
            far = socket.create_connection(("127.0.0.1", self.target), timeout=5)
        except OSError:
            near.close()
            return
        for each in (near, far):
            each.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            each.settimeout(5)
        self.pairs |= {near: far, far: near}

    def _pass_on(self, one: socket.socket) -> None:
        other = self.pairs.get(one)
        if other is None:
            return
        try:
            data = one.recv(CHUNK)
            if data:
                other.sendall(data)
        except OSError:
            data = b""
        if not data:
            self._forget(one)
