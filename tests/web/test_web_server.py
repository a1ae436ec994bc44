"""Streams, uploads, files and pages, all served by one process; it stops at once, whoever listens."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.conf import LazySettings
from django.contrib.auth.models import User
from django.test import Client

from jobs.videos.models import Video
from jobs.videos.names import version_folder
from tests.admin.visits import logged_in
from tests.factories import make_job
from tests.web.server import WebServer

pytestmark = [pytest.mark.once, pytest.mark.django_db(transaction=True)]
VERSION, CSRF = "0123456789abcdef", "c" * 32


@pytest.fixture
def server(tmp_path: Path) -> Iterator[WebServer]:
    with WebServer(tmp_path / "log", MEDIA_ROOT=str(tmp_path), JOBS_SSE_INTERVAL="0.1", WEB_THREADS="2") as server:
        yield server


@pytest.fixture
def anna() -> Client:
    return logged_in(User.objects.create_superuser("anna", password=None))


def cookies(client: Client) -> dict[str, str]:
    return {"Cookie": f"sessionid={client.cookies['sessionid'].value}; csrftoken={CSRF}"}


def test_streams_cost_no_thread_and_end_when_the_server_stops(server: WebServer, anna: Client):
    headers = cookies(anna)
    make_job()
    with server.connect() as one, server.connect() as two, server.connect() as three, server.connect() as page:
        streams = [one, two, three]  # more than there are threads
        answers = []
        for stream in streams:
            stream.request("GET", "/api/events/jobs", headers=headers)
            answers.append(stream.getresponse())
        assert [answer.status for answer in answers] == [200] * 3
        for answer in answers:  # what is made after it is not in it
            assert b"event: snapshot\n" in iter(answer.readline, b"")
        page.request("GET", "/admin/jobs/job/", headers=headers)
        answer = page.getresponse()
        assert (answer.status, b'data-stream="yes"' in answer.read()) == (200, True)
        job = make_job()
        for answer in answers:
            assert b"event: job\n" in iter(answer.readline, b"")
            assert f'"id":{job.pk},'.encode() in answer.readline()
        began = time.monotonic()
        assert server.stop() == 0, server.log.read_text()
        assert time.monotonic() - began < 10
        for answer in answers:
            assert b'event: end\ndata: {"reason":"stopping"}\n\n' in answer.read()
    assert server.log.read_text() == ""


def test_pages_static_files_uploads_and_ranges_are_served_as_ever(
    server: WebServer, anna: Client, settings: LazySettings, tmp_path: Path
):
    settings.MEDIA_ROOT = tmp_path
    video = Video.objects.create(title="Film", slug="film", version=VERSION, source_name="film.mkv", source_size=1)
    folder = tmp_path / version_folder(video.pk, VERSION)
    folder.mkdir(parents=True)
    content = bytes(range(256)) * 4096  # a megabyte: many blocks
    (folder / "master.m3u8").write_bytes(content)
    headers = cookies(anna)
    with server.connect() as connection:
        connection.request("GET", "/static/jobs/live.js")
        assert b"EventSource" in connection.getresponse().read()
        address = f"/videos/film/files/{VERSION}/master.m3u8"
        connection.request("GET", address, headers=headers)
        assert connection.getresponse().read() == content
        connection.request("GET", address, headers={**headers, "Range": "bytes=70000-900000"})
        answer = connection.getresponse()
        assert (answer.status, answer.read()) == (206, content[70_000:900_001])
        upload = (
            b'--x\r\nContent-Disposition: form-data; name="file"; filename="a.bin"\r\n\r\n' + content + b"\r\n--x--\r\n"
        )
        typed = {"Content-Type": "multipart/form-data; boundary=x"}
        connection.request("POST", "/api/videos", upload, {**headers, **typed, "X-CSRFToken": CSRF})
        answer = connection.getresponse()
        assert answer.status == 201, answer.read()
    with server.connect() as stranger:
        stranger.putrequest("POST", "/api/videos")
        for name, value in {**typed, "Content-Length": str(10**9)}.items():
            stranger.putheader(name, value)
        stranger.endheaders()
        assert stranger.getresponse().status == 401  # before the body was sent
