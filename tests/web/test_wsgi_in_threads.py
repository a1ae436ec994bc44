"""A WSGI application in threads: what it is told of a request, and how bodies and answers pass."""

import asyncio
import threading
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pytest
from django.conf import LazySettings
from uvicorn import Config
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

from project.pace import CUT
from project.web_worker import WebWorker
from project.wsgi_in_threads import BLOCK, WsgiInThreads

LONG = 20.0  # seconds
Wsgi = Callable[..., Iterable[bytes]]


class Visitor:
    """Sends the parts of a body as they are asked for, and takes what comes back; leaves after so many parts of it."""

    def __init__(
        self, *parts: bytes, headers: Iterable[tuple[bytes, bytes]] = (), leaves_after: int | None = None
    ) -> None:
        self.parts, self.headers, self.leaves_after = list(parts), list(headers), leaves_after
        self.cut = asyncio.Event()
        self.asked, self.got, self.start = 0, list[bytes](), {}  # type: int, list[bytes], Any
        self.left = asyncio.Event()

    async def receive(self) -> Any:
        self.asked += 1
        if self.parts:
            return {"type": "http.request", "body": self.parts.pop(0), "more_body": bool(self.parts)}
        await self.left.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: Any) -> None:
        if message["type"] == "http.response.start":
            self.start = message
            return
        self.got.append(message["body"])
        if len(self.got) == self.leaves_after:
            self.left.set()
            await asyncio.sleep(0.01)  # as long as it takes to notice


def visit(
    application: Wsgi,
    make: Callable[[], Visitor] = lambda: Visitor(b""),
    path: bytes = b"/",
    behind: Callable[[Any], Any] = lambda site: site,
) -> Visitor:
    async def run() -> Visitor:
        visitor, site = make(), WsgiInThreads(application, 2)
        scope = {
            "type": "http", "method": "POST", "http_version": "1.1", "scheme": "https", "path": "", "raw_path": path,
            "query_string": b"a=%20b", "headers": visitor.headers, "server": ("example.org", 443),
            "client": ("1.2.3.4", 5), CUT: visitor.cut.set,
        }  # fmt: skip
        try:
            await behind(site)(scope, visitor.receive, visitor.send)
        finally:
            await asyncio.to_thread(site.close)
        return visitor

    return asyncio.run(run())


def test_the_request_is_told_as_wsgi_wants_it():
    told: dict[str, Any] = {}

    def application(environ: dict[str, Any], start: Any) -> list[bytes]:
        told.update(environ)
        start("204 No Content", [("X-Name", "value")])
        return []

    headers = [
        (b"host", b"example.org"), (b"content-type", b"text/plain"), (b"cookie", b"a=1"), (b"cookie", b"b=2"),
        (b"accept", b"x"), (b"accept", b"y"), (b"x_forwarded_proto", b"https"),
    ]  # fmt: skip
    visitor = visit(application, lambda: Visitor(b"", headers=headers), b"/vid%C3%A9o%2F")
    assert (visitor.start["status"], visitor.start["headers"]) == (204, [(b"x-name", b"value")])
    assert told["PATH_INFO"].encode("latin-1").decode() == "/vidéo/"
    assert told | {
        "REQUEST_METHOD": "POST", "QUERY_STRING": "a=%20b", "wsgi.url_scheme": "https", "SERVER_NAME": "example.org",
        "SERVER_PORT": "443", "REMOTE_ADDR": "1.2.3.4", "HTTP_HOST": "example.org", "CONTENT_TYPE": "text/plain",
        "HTTP_COOKIE": "a=1; b=2", "HTTP_ACCEPT": "x,y",
    } == told  # fmt: skip
    assert "HTTP_X_FORWARDED_PROTO" not in told  # only the name that proxies know and replace counts


def test_a_body_is_read_as_it_comes_and_only_if_somebody_reads_it():
    def reader(environ: dict[str, Any], start: Any) -> list[bytes]:
        start("200 OK", [])
        return [environ["wsgi.input"].read(5), b"|", environ["wsgi.input"].readline(), environ["wsgi.input"].read()]

    def refuser(environ: dict[str, Any], start: Any) -> list[bytes]:
        start("413 Too Large", [])
        return [b"no"]

    assert b"".join(visit(reader, lambda: Visitor(b"abc", b"defg\nh", b"ij")).got) == b"abcde|fg\nhij"
    refused = visit(refuser, lambda: Visitor(b"much"))
    assert (refused.asked, refused.got) == (0, [b"no"])


def test_a_visitor_who_leaves_in_the_middle_of_a_body_is_an_error_to_who_reads_it():
    def application(environ: dict[str, Any], start: Any) -> list[bytes]:
        with pytest.raises(OSError, match="left"):
            environ["wsgi.input"].read(100)
        start("400 Bad Request", [])
        return [b"gone"]

    def make() -> Visitor:
        visitor = Visitor()
        visitor.left.set()
        return visitor

    assert visit(application, make).got == [b"gone"]


def test_nobody_goes_on_reading_a_file_for_a_visitor_who_has_left():
    class File(Iterator[bytes]):
        read, closed = 0, False

        def __next__(self) -> bytes:
            self.read += 1
            if self.read > 1_000:
                raise StopIteration
            return b"block"

        def close(self) -> None:
            self.closed = True

    file = File()

    def application(environ: dict[str, Any], start: Any) -> Iterable[bytes]:
        start("200 OK", [])
        return file

    visit(application, lambda: Visitor(b"", leaves_after=3))
    assert file.closed
    assert file.read < 50


class Slow(Visitor):
    """Takes so long for each block, and for the third as long as nobody waits for."""

    seconds, stops = 0.0, True

    async def send(self, message: Any) -> None:
        await super().send(message)
        await asyncio.sleep(self.seconds)
        if self.stops and len(self.got) == 3:
            await asyncio.sleep(LONG)


def test_who_does_not_read_on_is_cut_off_and_who_does_gets_all(settings: LazySettings):
    settings.WEB_PATIENCE = 0.5

    def application(environ: dict[str, Any], start: Any) -> Iterator[bytes]:
        start("200 OK", [])
        yield from [bytes(BLOCK)] * 12

    stopped = visit(application, lambda: Slow(b""))
    assert (len(stopped.got), stopped.cut.is_set()) == (3, True)

    def steady() -> Slow:
        visitor = Slow(b"")
        visitor.seconds, visitor.stops = 0.06, False  # all in all more than the patience for a stop
        return visitor

    assert (len((read := visit(application, steady)).got), read.cut.is_set()) == (12, False)


def test_an_error_of_the_application_reaches_the_server_and_the_thread_goes_on():
    def application(environ: dict[str, Any], start: Any) -> list[bytes]:
        raise ZeroDivisionError

    before = threading.active_count()
    with pytest.raises(ZeroDivisionError):
        visit(application)
    assert threading.active_count() == before


def test_there_are_never_more_threads_than_allowed():
    together, most, lock = [0], [0], threading.Lock()

    def application(environ: dict[str, Any], start: Any) -> list[bytes]:
        with lock:
            together[0] += 1
            most[0] = max(most[0], together[0])
        environ["wsgi.input"].read()
        with lock:
            together[0] -= 1
        start("200 OK", [])
        return [b"ok"]

    async def run() -> list[list[bytes]]:
        site, visitors = WsgiInThreads(application, 3), [Visitor(b"x") for _ in range(20)]
        scope = {
            "type": "http",
            "method": "GET",
            "http_version": "1.1",
            "path": "/",
            "query_string": b"",
            "headers": [],
        }
        await asyncio.gather(*(site(scope, visitor.receive, visitor.send) for visitor in visitors))
        await asyncio.to_thread(site.close)
        return [visitor.got for visitor in visitors]

    assert asyncio.run(run()) == [[b"ok"]] * 20
    assert 1 <= most[0] <= 3


@pytest.mark.parametrize(("proxies", "address"), [("1.2.3.0/24", "9.8.7.6"), ("127.0.0.1,::1", "1.2.3.4")])
def test_the_visitor_s_address_is_believed_of_our_proxies_alone(proxies: str, address: str):
    """The limit of log-ins counts by it."""
    told: dict[str, Any] = {}

    def application(environ: dict[str, Any], start_response: Any) -> list[bytes]:
        told.update(environ)
        start_response("200 OK", [])
        return [b""]

    def from_afar() -> Visitor:
        return Visitor(b"", headers=[(b"x-forwarded-for", b"9.8.7.6"), (b"x_forwarded_for", b"6.6.6.6")])

    assert Config("", **WebWorker.CONFIG_KWARGS).proxy_headers, "uvicorn puts this in front of our site"
    visit(application, from_afar, behind=lambda site: ProxyHeadersMiddleware(site, proxies))
    assert told["REMOTE_ADDR"] == address
    assert told["HTTP_X_FORWARDED_FOR"] == "9.8.7.6"
