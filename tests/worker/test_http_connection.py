"""The connection to a server: what each answer means, on real sockets; whom we trust, and through which proxy."""

import io
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from jobs import __version__
from jobs.bearer import new_secret
from jobs.exceptions import ClaimExpired, ClaimLost, InvalidInput, JobyardError
from jobs.wire.names import Code
from jobs.worker.http_connection import HttpConnection
from jobs.worker.http_errors import NoSuchPlace, NotStarted, TooLarge, WorkerDisabled
from jobs.worker.http_server import Server
from jobs.worker.queue_client import QueueRefuses, QueueUnavailable
from tests.worker.odd_server import OddServer, Told, error, odd_server

KEY = new_secret("worker").text


@pytest.fixture
def server() -> Iterator[OddServer]:
    with odd_server(OddServer()) as server:
        yield server


@pytest.fixture
def connection(server: OddServer) -> Iterator[HttpConnection]:
    connection = HttpConnection(Server(server.url, KEY))
    yield connection
    connection.close()


def ask(connection: HttpConnection) -> object:
    return connection.call("POST", "claim", {"limit": 1}, job_id=7)


def test_a_call_says_who_we_are_and_brings_json(server: OddServer, connection: HttpConnection):
    server.answer = lambda request: Told({"jobs": []})
    assert ask(connection) == {"jobs": []}
    assert ask(connection) == {"jobs": []}
    request = server.requests[0]
    assert (request.method, request.path, request.json) == ("POST", "/api/worker/claim", {"limit": 1})
    assert request.headers["X-Worker-API-Key"] == KEY
    assert request.headers["X-Worker-Process"] == str(connection.server.process)
    assert request.headers["User-Agent"] == f"Jobyard/{__version__}"


@pytest.mark.parametrize(
    ("answer", "kind", "words"),
    [
        (error(401, Code.BAD_KEY), QueueRefuses, "The server does not know this key: This is why."),
        (error(401, Code.KEY_REVOKED), QueueRefuses, "The key was revoked: this worker stops."),
        (error(401, Code.KEY_EXPIRED), QueueRefuses, "The key has expired"),
        (error(403, Code.DISABLED), WorkerDisabled, "This is why."),
        (error(404, Code.NOT_FOUND), NoSuchPlace, "This is why."),
        (error(409, Code.CLAIM_LOST), ClaimLost, "The claim on job 7 is lost"),
        (error(409, Code.CLAIM_EXPIRED), ClaimExpired, "The claim on job 7 has expired"),
        (error(409, Code.IN_USE), QueueRefuses, "This is why."),
        (error(409, Code.REPLACED), QueueRefuses, "Another process has taken this worker's place"),
        (error(409, Code.NOT_STARTED), NotStarted, "This is why."),
        (error(409, "odd"), JobyardError, "This is why."),
        (error(413, Code.TOO_LARGE), TooLarge, "This is why."),
        (error(422, Code.INVALID), InvalidInput, "This is why."),
        (error(429, Code.TOO_MANY), QueueUnavailable, "429 This is why."),
        (error(503, Code.BUSY), QueueUnavailable, "503 This is why."),
        (Told(b"<h1>Bad Gateway</h1>", 502), QueueUnavailable, "the server answered 502"),
        (Told(b"<h1>Welcome</h1>"), QueueRefuses, "is not a Jobyard server, or the URL is not that of its site"),
        (Told(b"<h1>Nothing here</h1>", 404), QueueRefuses, "it answered 404 and no error of ours"),
        (Told(b"", 301, {"Location": "https://jobs.example.org/"}), QueueRefuses, "redirects to https://jobs.example"),
    ],
)
def test_what_an_answer_means(server: OddServer, connection: HttpConnection, answer, kind, words):
    server.answer = lambda request: answer
    with pytest.raises(kind) as raised:
        ask(connection)
    assert type(raised.value) is kind
    assert words in str(raised.value)
    assert KEY not in str(raised.value)


@pytest.mark.parametrize("answer", [Told(b"<h1>Soon</h1>"), Told(b"", 302, {"Location": "/x"}), Told(b"?", 404)])
def test_a_server_that_we_know_is_waited_for_whatever_stands_in_its_place(server, connection, answer):
    ask(connection)
    server.answer = lambda request: answer
    with pytest.raises(QueueUnavailable):
        ask(connection)


def test_the_server_says_when_to_come_again(server: OddServer, connection: HttpConnection):
    moment = format_datetime(datetime.now(UTC) + timedelta(seconds=30), usegmt=True)
    for text, least, most in (("7", 7, 7), ("86400", 60, 60), (moment, 20, 30), ("soon", 0, 0)):
        server.told = error(503, Code.BUSY, Retry_After=text)
        with pytest.raises(QueueUnavailable) as away:
            ask(connection)
        assert least <= away.value.retry_in <= most


def test_nobody_there_is_a_passing_trouble(server: OddServer):
    connection = HttpConnection(Server("http://127.0.0.1:9", KEY))
    with pytest.raises(QueueUnavailable):
        ask(connection)


def test_a_server_that_does_not_answer_in_time_is_a_passing_trouble(server: OddServer, connection: HttpConnection):
    served = server.answer
    server.answer = lambda request: Told(b"{}", length=100)  # and then says nothing, and hangs up
    with pytest.raises(QueueUnavailable):
        connection.call("GET", "1/verify", timeout=0.5)
    server.answer = served
    assert ask(connection) == {}


def test_what_json_cannot_say_is_never_sent(server: OddServer, connection: HttpConnection):
    with pytest.raises(InvalidInput):
        connection.call("POST", "1/spawn", {"payload": object()})
    assert not server.requests


def test_files_go_up_and_down_in_pieces(server: OddServer, connection: HttpConnection):
    server.answer = lambda request: Told(request.body or b"x" * 200_000)
    with connection.open("PUT", "1/files/a", body=io.BytesIO(b"y" * 100_000), length=100_000) as up:
        assert (up.status, len(up.read(1 << 20))) == (200, 100_000)
    with connection.open("GET", "1/source") as down:
        assert len(down.read(1000)) == 1000
        assert sum(map(len, iter(down.read, b""))) == 199_000


def test_a_file_that_ends_too_early_is_no_file(server: OddServer, connection: HttpConnection):
    server.answer = lambda request: Told(b"x" * 10, length=100)
    with connection.open("GET", "1/source") as down, pytest.raises(QueueUnavailable):
        down.read(1000)


def test_an_answer_to_a_file_that_is_an_error_means_the_same(server: OddServer, connection: HttpConnection):
    server.answer = lambda request: error(409, Code.CLAIM_LOST)
    with connection.open("PUT", "1/files/a", body=b"x") as answer, pytest.raises(ClaimLost):
        answer.raise_for_error(1)


def test_the_proxy_of_the_environment_is_used_unless_the_host_is_excepted(server: OddServer, monkeypatch):
    for name in ("http_proxy", "HTTP_PROXY", "no_proxy", "NO_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("http_proxy", server.url.replace("//", "//me:secret@"))
    with closing(HttpConnection(Server("http://jobs.example.org", KEY))) as through_proxy:
        ask(through_proxy)
    assert server.requests[0].path == "http://jobs.example.org/api/worker/claim"
    assert server.requests[0].headers["Proxy-Authorization"].startswith("Basic ")
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    with closing(HttpConnection(Server(server.url, KEY))) as direct:
        ask(direct)
    assert server.requests[1].path == "/api/worker/claim"
