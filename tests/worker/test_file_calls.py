"""Calls about files: they wait for what calls of the queue wait for, and not for what is refused for good."""

from collections.abc import Iterator
from contextlib import closing
from uuid import UUID

import pytest

from jobs.bearer import new_secret
from jobs.handlers.base import ClaimRef
from jobs.wire.names import SHA256_HEADER, Code
from jobs.worker import file_calls
from jobs.worker.file_calls import FileCalls, FilesRefused, ServerFull
from jobs.worker.http_connection import HttpConnection
from jobs.worker.http_server import Server
from jobs.worker.queue_client import QueueUnavailable
from jobs.worker.remote_files import RemoteFiles, Source, remote_files
from tests.worker.odd_server import OddServer, Told, error, odd_server
from tests.worker.test_downloading import Going

KEY = new_secret("worker").text
CLAIM = ClaimRef(7, UUID(int=7))
LIST: dict[str, list[str]] = {"files": []}
PAGE = b"<h1>Something else stands here</h1>"


@pytest.fixture
def server() -> Iterator[OddServer]:
    with odd_server(OddServer()) as server:
        yield server


@pytest.fixture
def calls(server: OddServer, monkeypatch: pytest.MonkeyPatch) -> Iterator[FileCalls]:
    monkeypatch.setattr(file_calls, "FIRST_PAUSE", 0.01)
    monkeypatch.setattr(file_calls, "PATIENCE", 5.0)
    with closing(HttpConnection(Server(server.url, KEY))) as connection:
        yield FileCalls(connection, CLAIM, Going())


@pytest.mark.parametrize(
    "answer",
    [
        Told(PAGE), Told(PAGE, 302, {"Location": "/login"}), Told(PAGE, 404), Told(PAGE, 403), Told(PAGE, 507),
        Told(PAGE, 521), error(425, "early"), error(429, Code.TOO_MANY), error(503, Code.BUSY), error(599, "odd"),
    ],
    ids=lambda answer: f"{answer.status}-{'page' if answer.body is PAGE else 'ours'}",
)  # fmt: skip
def test_what_will_pass_is_waited_for(server: OddServer, calls: FileCalls, answer: Told):
    told = [answer, Told(LIST)]
    server.answer = lambda request: told.pop(0)
    assert calls.ask("GET", "files") == LIST
    assert not told


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (error(404, Code.NOT_FOUND), FileNotFoundError),
        (error(422, Code.INVALID), FilesRefused),
        (error(507, "full"), ServerFull),
        (Told(PAGE, 413), FilesRefused),  # client_max_body_size: it is the same later
    ],
    ids=["404", "422", "507", "413-page"],
)
def test_what_is_refused_for_good_is_not(server: OddServer, calls: FileCalls, answer: Told, kind):
    server.told = answer
    with pytest.raises(kind, match=r"This is why\.|a proxy before the server"):
        calls.ask("GET", "files")
    assert len(server.requests) == 1


def test_the_server_says_when_to_come_again(server: OddServer, calls: FileCalls, monkeypatch: pytest.MonkeyPatch):
    told, waits = [error(503, Code.BUSY, Retry_After="7"), Told(LIST)], list[float]()
    server.answer = lambda request: told.pop(0)
    monkeypatch.setattr(FileCalls, "wait", lambda self, seconds: waits.append(seconds))
    assert calls.ask("GET", "files") == LIST
    assert waits == [7.0]


def test_a_hash_is_asked_for_in_a_way_that_can_be_refused_in_words(server: OddServer, calls: FileCalls):
    files, source = RemoteFiles(calls), Source("sources/1/a.mp4", 10)
    server.told = Told(b"x", 206, {SHA256_HEADER: "abc"})
    assert files._hash_of(source) == "abc"
    assert server.requests[0].headers["Range"] == "bytes=0-0"
    server.told = error(404, Code.NOT_FOUND)
    with pytest.raises(FileNotFoundError):
        files._hash_of(source)


def test_a_certificate_that_is_wrong_all_of_a_sudden_will_pass_too(server: OddServer):
    files = remote_files(Server(server.url.replace("http:", "https:"), KEY))(CLAIM, Going())  # type: ignore[arg-type]
    assert isinstance(files, RemoteFiles)
    with pytest.raises(QueueUnavailable):
        files.calls.once("GET", "files")
