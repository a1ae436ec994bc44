"""A real HTTP server on this machine that hears webhooks, and answers as a test says."""

import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from tests.patience import PATIENCE

CERTIFICATES = Path(__file__).parent / "certificates"
TIMEOUT = PATIENCE


@dataclass(frozen=True)
class Heard:
    path: str
    headers: dict[str, str]  # by names in lower case
    body: bytes


Answer = int | Callable[[BaseHTTPRequestHandler], object]


@dataclass
class Receiver:
    """`answers` are used up one by one; then each request gets a 204."""

    answers: list[Answer] = field(default_factory=list)
    heard: list[Heard] = field(default_factory=list)
    scheme: str = "http"
    arrived: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))
    over: threading.Event = field(default_factory=threading.Event)
    port: int = 0

    def url(self, path: str = "/hook", host: str = "127.0.0.1") -> str:
        return f"{self.scheme}://{host}:{self.port}{path}"

    @property
    def host(self) -> str:
        return f"127.0.0.1:{self.port}"

    def wait_for(self, number: int = 1) -> list[Heard]:
        for _ in range(number):
            assert self.arrived.acquire(timeout=TIMEOUT), f"only {len(self.heard)} came"
        return self.heard

    def handle(self, request: BaseHTTPRequestHandler) -> None:
        body = request.rfile.read(int(request.headers["Content-Length"]))
        headers = {name.lower(): value for name, value in request.headers.items()}
        self.heard.append(Heard(request.path, headers, body))
        answer = self.answers.pop(0) if self.answers else 204
        if callable(answer):
            answer(request)
        else:
            say(request, answer)
        self.arrived.release()


def say(request: BaseHTTPRequestHandler, status: int, body: bytes = b"", **headers: str) -> None:
    request.send_response(status)
    for name, value in headers.items():
        request.send_header(name.replace("_", "-"), value)
    request.send_header("Content-Length", str(len(body)))
    request.end_headers()
    request.wfile.write(body)


def dripping(receiver: Receiver, first: bytes) -> Callable[[BaseHTTPRequestHandler], None]:
    """Says one byte every now and then, and never comes to an end."""

    def answer(request: BaseHTTPRequestHandler) -> None:
        request.wfile.write(first)
        for _ in range(2000):
            try:
                request.wfile.write(b"x")
                request.wfile.flush()
            except OSError:  # the other side has had enough
                return
            if receiver.over.wait(0.01):
                return

    return answer


@contextmanager
def running(scheme: str = "http", port: int = 0) -> Iterator[Receiver]:
    receiver = Receiver(scheme=scheme)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            receiver.handle(self)

        def log_message(self, *arguments: Any) -> None:
            pass

    server = Server(("127.0.0.1", port), Handler)
    receiver.port = server.server_address[1]
    if scheme == "https":
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(CERTIFICATES / "server.pem")
        server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, name="receiver")
    thread.start()
    try:
        yield receiver
    finally:
        receiver.over.set()
        server.shutdown()
        server.server_close()
        thread.join(TIMEOUT)


class Server(ThreadingHTTPServer):
    daemon_threads = False  # they are waited for when it closes
    request_queue_size = 64

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Whoever hangs up is no error of ours."""
