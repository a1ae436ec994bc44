"""Stands between a worker and its server, and loses answers: what was asked is done, and nobody hears of it."""

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

Look = Callable[[bytes, threading.Event], bool]
PIECE = 64 * 1024


class CuttingProxy:
    """Passes everything on, but for the first answer to a request that contains `words`."""

    def __init__(self, port: int) -> None:
        self.server_port = port
        self.words: bytes | None = None
        self.lost = threading.Event()  # an answer was
        self.listener = socket.create_server(("127.0.0.1", 0))
        self._open: set[socket.socket] = set()
        self._threads = [threading.Thread(target=self._accept)]
        self._threads[0].start()

    @property
    def port(self) -> int:
        return self.listener.getsockname()[1]

    def lose_answer_to(self, words: bytes) -> None:
        self.lost.clear()
        self.words = words

    def close(self) -> None:
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        for sock in list(self._open):
            self._shut(sock)
        for thread in self._threads:
            thread.join()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                near = self.listener.accept()[0]
                try:
                    far = socket.create_connection(("127.0.0.1", self.server_port))
                except OSError:
                    near.close()
                    continue
                self._open |= {near, far}
                cut = threading.Event()
                for way in ((near, far, cut, self._asked), (far, near, cut, self._answered)):
                    self._threads.append(threading.Thread(target=self._pass_on, args=way))
                    self._threads[-1].start()

    def _pass_on(self, source: socket.socket, target: socket.socket, cut: threading.Event, look: Look) -> None:
        with suppress(OSError):
            while piece := source.recv(PIECE):
                if not look(piece, cut):
                    break
                target.sendall(piece)
        for sock in (source, target):
            self._shut(sock)

    def _asked(self, piece: bytes, cut: threading.Event) -> bool:
        if self.words and self.words in piece:
            self.words = None
            cut.set()
        return True

    def _answered(self, piece: bytes, cut: threading.Event) -> bool:
        if cut.is_set():
            self.lost.set()
        return not cut.is_set()

    def _shut(self, sock: socket.socket) -> None:
        with suppress(OSError):
            sock.shutdown(socket.SHUT_RDWR)
        sock.close()
        self._open.discard(sock)


@contextmanager
def cutting_proxy(port: int) -> Iterator[CuttingProxy]:
    proxy = CuttingProxy(port)
    try:
        yield proxy
    finally:
        proxy.close()
