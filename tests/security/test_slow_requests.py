"""Slow, endless and oversized requests to gunicorn as it is configured: they hold up nobody else."""

import socket
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from django.contrib.auth.models import User

from jobs.videos.models import Video
from jobs.videos.names import version_folder
from tests.admin.visits import logged_in
from tests.web.server import WebServer
from tests.web.test_web_server import CSRF, VERSION, cookies

pytestmark = [pytest.mark.once, pytest.mark.django_db(transaction=True)]
THREADS = 2
FILM = 64 * 2**20  # bytes: more than the buffers of a connection hold
LOG_IN = b"POST /accounts/login/ HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-www-form-urlencoded\r\n"


@pytest.fixture(scope="module")
def server(django_db_setup: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[WebServer]:
    folder = tmp_path_factory.mktemp("web")
    with WebServer(folder / "log", MEDIA_ROOT=str(folder), WEB_THREADS=str(THREADS), WEB_PATIENCE="2") as server:
        yield server


def calling(server: WebServer, said: bytes) -> socket.socket:
    connection = socket.create_connection(("127.0.0.1", server.port), timeout=30)
    connection.sendall(said)
    return connection


def heard(connection: socket.socket) -> bytes:
    """All that it says until it hangs up."""
    with connection:
        return b"".join(iter(lambda: connection.recv(65536), b""))


def test_who_drips_a_form_or_a_header_holds_up_nobody_and_is_sent_away(server: WebServer):
    with ExitStack() as open_ones:
        headers = [open_ones.enter_context(calling(server, b"GET / HTTP/1.1\r\nHost: loc")) for _ in range(2 * THREADS)]
        silent = open_ones.enter_context(calling(server, b""))
        forms = [
            open_ones.enter_context(calling(server, LOG_IN + b"Content-Length: 1000\r\n\r\nusername="))
            for _ in range(2 * THREADS)
        ]
        assert server.answers()  # while more of them wait than there are threads
        for each in (*headers, silent):
            assert heard(each) == b""
        for each in forms:
            assert heard(each).startswith(b"HTTP/1.1 408 ")
    assert server.answers()


def test_strangers_send_short_forms_alone(server: WebServer):
    """Of a long one not a byte is read: else a stranger could keep a thread by dripping it."""
    for_page = heard(calling(server, LOG_IN + b"Content-Length: 70000\r\nConnection: close\r\n\r\n"))
    assert for_page.startswith(b"HTTP/1.1 413 ")
    for_api = LOG_IN.replace(b"accounts/login/", b"api/videos") + b"Content-Length: 70000\r\nConnection: close\r\n\r\n"
    assert heard(calling(server, for_api)).startswith(b"HTTP/1.1 401 ")


def test_an_upload_that_stops_gives_its_thread_back(server: WebServer):
    anna = cookies(logged_in(User.objects.create_superuser("anna", password=None)))
    said = LOG_IN.replace(b"accounts/login/", b"api/videos").replace(
        b"application/x-www-form-urlencoded", b"multipart/form-data; boundary=x"
    )
    said += f"Cookie: {anna['Cookie']}\r\nX-CSRFToken: {CSRF}\r\nContent-Length: 1000000\r\n\r\n--x\r\n".encode()
    with ExitStack() as open_ones:
        uploads = [open_ones.enter_context(calling(server, said)) for _ in range(THREADS)]
        assert server.answers()
        for each in uploads:
            assert each.recv(1000).startswith(b"HTTP/1.1 4")


def test_who_does_not_read_a_long_answer_holds_up_nobody_and_is_cut_off(server: WebServer):
    """A film, for one: the server asks the disk for more only as it is read."""
    video = Video.objects.create(title="Film", slug="film", version=VERSION, source_name="film.mkv", source_size=1)
    folder = Path(server.environment["MEDIA_ROOT"]) / version_folder(video.pk, VERSION)
    folder.mkdir(parents=True)
    with (folder / "master.m3u8").open("wb") as file:
        file.truncate(FILM)
    anna = cookies(logged_in(User.objects.create_superuser("anna", password=None)))
    said = f"GET /videos/film/files/{VERSION}/master.m3u8 HTTP/1.1\r\nHost: localhost\r\n"
    said += f"Cookie: {anna['Cookie']}\r\nConnection: close\r\n\r\n"
    with ExitStack() as open_ones:
        readers = [open_ones.enter_context(calling(server, said.encode())) for _ in range(THREADS)]
        for each in readers:
            assert each.recv(512).startswith(b"HTTP/1.1 200 ")
        assert server.answers()
        for each in readers:
            assert len(heard(each)) < FILM, "what lay in the buffers, and no more"
    assert "ERROR" not in server.log.read_text()


def test_a_header_does_not_grow_without_end(server: WebServer):
    more = b"X-More: " + b"x" * 10_000 + b"\r\n"
    with calling(server, b"GET / HTTP/1.1\r\nHost: localhost\r\n") as endless, pytest.raises(OSError):
        endless.sendall(2000 * more)  # it hangs up in the middle
    with calling(server, b"") as one, pytest.raises(OSError):
        one.sendall(b"GET /" + b"x" * 20_000_000)
    assert server.answers()


@pytest.mark.parametrize(
    "lengths",
    [
        b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n",
        b"Content-Length: 5\r\nContent-Length: 6\r\n",
        b"Content-Length: +5\r\n",
    ],
)
def test_what_could_be_read_as_two_requests_is_refused(server: WebServer, lengths: bytes):
    """A proxy might see one where we see another."""
    second = b"0\r\n\r\nGET /admin/ HTTP/1.1\r\n\r\n"
    answer = heard(calling(server, LOG_IN + lengths + b"Connection: close\r\n\r\n" + second))
    assert answer.startswith(b"HTTP/1.1 400 "), answer[:200]
    assert answer.count(b"HTTP/1.1 ") == 1
