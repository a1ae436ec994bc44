"""`ctx.files` over HTTP, against a real web server that is killed and comes back, beside a disk that both may see."""

import os
import signal
import socket
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from django.conf import LazySettings

from jobs.exceptions import ClaimLost, InvalidInput
from jobs.handlers.base import ClaimedJob
from jobs.handlers.files import job_storage
from jobs.lifecycle.finish import fail
from jobs.lifecycle.prune import prune_once
from jobs.models import Output, OutputFile
from jobs.states import Status
from jobs.videos.names import version_folder, version_of
from jobs.videos.transcoding.validate import problems_of
from jobs.wire.names import CLAIM_HEADER, KEY_HEADER, PROCESS_HEADER, SHA256_HEADER
from jobs.worker import file_calls
from jobs.worker.file_calls import FilesRefused
from jobs.worker.proc import children_of
from jobs.worker.remote_files import Sending
from tests.concurrency.threads import wait_until
from tests.remote.far_studio import FarStudio
from tests.videos import sources
from tests.videos.library import make_video
from tests.web.server import WebServer

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.once]
CONTENT = {"master.m3u8": b"#EXTM3U", **{f"360p/segment_{number:05}.m4s": os.urandom(50_000) for number in range(20)}}


@pytest.fixture
def media(tmp_path: Path, settings: LazySettings) -> Path:
    settings.MEDIA_ROOT = tmp_path / "media"
    return tmp_path / "media"


@pytest.fixture
def web(tmp_path: Path, media: Path, transactional_db: None) -> Iterator[WebServer]:
    with WebServer(tmp_path / "web.log", MEDIA_ROOT=str(media)) as server:
        yield server


@pytest.fixture
def studio(tmp_path: Path, web: WebServer, monkeypatch: pytest.MonkeyPatch) -> Iterator[FarStudio]:
    monkeypatch.setattr(file_calls, "FIRST_PAUSE", 0.05)
    monkeypatch.setattr(file_calls, "LONGEST_PAUSE", 0.2)
    studio = FarStudio(tmp_path / "far", web)
    yield studio
    studio.close()


@pytest.fixture
def made(tmp_path: Path) -> Path:
    """What an attempt has made: files of the right names, with nothing of a video in them."""
    for name, data in CONTENT.items():
        (tmp_path / "made" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "made" / name).write_bytes(data)
    return tmp_path / "made"


def output_of(job: ClaimedJob) -> str:
    return version_folder(job.payload["video"], version_of(job.id, job.claim.claim_id))


def test_a_video_is_made_without_the_storage_published_and_valid(studio: FarStudio, tmp_path: Path):
    video = studio.transcoded(sources.landscape(tmp_path))
    job = studio.job_of(video)
    assert (job.status, job.last_error) == (Status.COMPLETED, "")
    assert problems_of(studio.folder_of(video), thorough=True) == []
    assert not Output.objects.exists()
    assert not (studio.folder_of(video) / ".incoming").exists()


def test_on_a_disk_that_both_see_nothing_goes_through_the_web_server(
    studio: FarStudio, tmp_path: Path, media: Path, settings: LazySettings, monkeypatch: pytest.MonkeyPatch
):
    media.mkdir()
    (tmp_path / "mnt").symlink_to(media)
    settings.JOBS_PATH_MAP = f"{media}={tmp_path / 'mnt'}"
    for forbidden in ("jobs.worker.remote_files.Sending", "jobs.worker.remote_files.Download"):
        monkeypatch.setattr(forbidden, lambda *args: pytest.fail("a file went through the web server"))
    video = studio.transcoded(sources.landscape(tmp_path))
    assert (studio.job_of(video).status, studio.job_of(video).last_error) == (Status.COMPLETED, "")
    assert problems_of(studio.folder_of(video)) == []


def killed_and_back(web: WebServer) -> threading.Thread:
    """As when its machine loses power: no process of it ends in order. It is started again meanwhile."""
    family = [web.process.pid, *children_of(web.process.pid)]
    for pid in family:
        with suppress(ProcessLookupError):  # one may end with the other
            os.kill(pid, signal.SIGKILL)
    web.process.wait()
    thread = threading.Thread(target=web.start)
    thread.start()
    return thread


def test_a_server_killed_in_the_middle_of_an_upload_costs_nothing_that_had_arrived(
    studio: FarStudio, web: WebServer, made: Path, media: Path, monkeypatch: pytest.MonkeyPatch
):
    video = make_video()
    job, sent = studio.claim(), list[str]()
    back: list[threading.Thread] = []
    original = Sending.__call__

    def send(self: Sending) -> None:
        sent.append(self.file.path)
        if len(sent) == 8:
            back.append(killed_and_back(web))
        original(self)

    monkeypatch.setattr(Sending, "__call__", send)
    with pytest.raises(FilesRefused, match="not as it should be"):  # all of it came, and it is no video
        studio.files(job).put(made, output_of(job))
    back[0].join()
    there = media / output_of(job)
    assert {
        path.relative_to(there).as_posix(): path.read_bytes() for path in there.rglob("*") if path.is_file()
    } == CONTENT
    assert len(set(sent)) == len(CONTENT)
    assert sent[:7] + sent[-12:] == sorted(CONTENT)[:7] + sorted(CONTENT)[-12:], "what had arrived was not sent again"
    assert not studio.reload(video).version


def test_what_a_lost_claim_sent_is_refused_and_collected(studio: FarStudio, web: WebServer, made: Path, media: Path):
    make_video()
    job = studio.claim()
    files = studio.files(job)
    with pytest.raises(InvalidInput, match="and not 'videos/1/elsewhere'"):
        files.put(made, "videos/1/elsewhere")
    with pytest.raises(FileNotFoundError):
        files.fetch("sources/1/another.mp4", made)
    send_half(studio, web, job)
    assert not OutputFile.objects.exists()
    with pytest.raises(FilesRefused):
        files.put(made, output_of(job))
    fail(job.claim, "taken away")
    with pytest.raises(ClaimLost):
        files.put(made, output_of(job))
    prune_once()
    assert not (media / output_of(job)).exists()


def send_half(studio: FarStudio, web: WebServer, job: ClaimedJob) -> None:
    """Half a body, and then nothing more; the server has heard of it when its temporary file is gone."""
    head = (
        f"PUT /api/worker/{job.id}/files/half.mp4 HTTP/1.1\r\nHost: localhost\r\nContent-Length: 200000\r\n"
        f"{KEY_HEADER}: {studio.server.key}\r\n{PROCESS_HEADER}: {studio.server.process}\r\n"
        f"{CLAIM_HEADER}: {job.claim.claim_id}\r\n{SHA256_HEADER}: {'0' * 64}\r\n\r\n"
    )
    incoming = Path(job_storage().path(output_of(job))) / ".incoming"
    with socket.create_connection(("127.0.0.1", web.port)) as line:
        line.sendall(head.encode() + b"x" * 100_000)
        wait_until(lambda: incoming.exists() and any(incoming.iterdir()))
    wait_until(lambda: not any(incoming.iterdir()))
