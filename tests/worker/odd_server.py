"""A server of one's own on a free port, that answers as a test tells it to: what is out there is not always Jobyard."""

import json
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email.message import Message
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, TypeVar

from trustme import LeafCert


@dataclass
class Told:
    """An answer: JSON, or bytes as they are."""

    body: Any = None
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    length: int | None = None  # another one than the body has

    @property
    def bytes(self) -> bytes:
        return self.body if isinstance(self.body, bytes) else json.dumps(self.body).encode()


def error(status: int, code: str, message: str = "This is why.", **headers: str) -> Told:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Told({"error": {"code": code, "message": message}}, status, named)


@dataclass
class Request:
    method: str
    path: str
    headers: Message
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class Quiet(ThreadingHTTPServer):
    daemon_threads = False

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Whoever does not like our certificate hangs up."""


class OddServer:
    def __init__(self) -> None:
        self.requests: list[Request] = []
        self.told = Told({})
        self.answer: Callable[[Request], Told] = lambda request: self.told
        self.httpd = Quiet(("127.0.0.1", 0), self.handler())

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.httpd.server_port}"

    def secure(self, certificate: LeafCert) -> None:
        """From now on it speaks TLS and nothing else. The thread of each connection greets it."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        certificate.configure_cert(context)
        self.httpd.socket = context.wrap_socket(self.httpd.socket, server_side=True, do_handshake_on_connect=False)

    def handler(self) -> type[BaseHTTPRequestHandler]:
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            timeout = 5

            def serve(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                request = Request(self.command, self.path, self.headers, body)
                server.requests.append(request)
                told = server.answer(request)
                self.send_response(told.status)
                for name, value in told.headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(told.length or len(told.bytes)))
                self.end_headers()
                self.wfile.write(told.bytes)
                self.close_connection = told.length is not None

            do_GET = do_POST = do_PUT = serve  # noqa: N815 - as http.server calls them

            def log_message(self, *arguments: object) -> None: ...

        return Handler


Some = TypeVar("Some", bound=OddServer)


@contextmanager
def odd_server(server: Some) -> Iterator[Some]:
    thread = threading.Thread(target=server.httpd.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield server
    finally:
        server.httpd.shutdown()
        server.httpd.server_close()
        thread.join()
