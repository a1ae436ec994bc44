"""Files from any storage: read in blocks, closed in the end, opened only if something is sent; and nginx in front."""

from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from django.conf import LazySettings
from django.core.files.base import ContentFile
from django.core.files.storage import FileSystemStorage, Storage
from django.http import StreamingHttpResponse
from django.test import Client

from jobs.serving.ranges import Part
from jobs.serving.stored_file import BLOCK, StoredFile, find
from jobs.videos.models import Video
from tests.videos.shelf import (
    SEGMENT,
    VERSION,
    address,
    ready_video,
    store,
)  # fmt: skip

pytestmark = pytest.mark.django_db
FIRST = "360p/segment_00000.m4s"


@pytest.fixture(autouse=True)
def _media(settings: LazySettings, tmp_path: Path) -> None:
    settings.MEDIA_ROOT = tmp_path / "media"
    settings.STATIC_ROOT = tmp_path / "static"
    settings.STATIC_ROOT.mkdir()  # where there is none, WhiteNoise warns
    settings.JOBS_VIDEO_PUBLIC = True


@pytest.fixture
def video(_media: None) -> Video:
    return ready_video()


def body(answer: Any) -> bytes:
    return b"".join(answer.streaming_content) if answer.streaming else answer.content


class Watched:
    """A file that remembers how it was read."""

    def __init__(self, file: Any) -> None:
        self.file, self.closed = file, False
        self.reads: list[int] = []

    def seek(self, place: int) -> None:
        self.file.seek(place)

    def read(self, size: int) -> bytes:
        self.reads.append(size)
        return self.file.read(size)

    def close(self) -> None:
        self.closed = True
        self.file.close()


class RemoteStorage(Storage):
    """As one on another machine: it has files, but no paths to them."""

    opened: list[Watched] = []

    def __init__(self) -> None:
        self.disk = FileSystemStorage()

    def _open(self, name: str, mode: str) -> Any:
        self.opened.append(Watched(self.disk.open(name, mode)))
        return self.opened[-1]

    def _save(self, name: str, content: Any) -> str:
        return self.disk.save(name, content)

    def exists(self, name: str) -> bool:
        return self.disk.exists(name)

    def size(self, name: str) -> int:
        return self.disk.size(name)

    def get_modified_time(self, name: str) -> datetime:
        return self.disk.get_modified_time(name)


@pytest.fixture
def elsewhere(settings: LazySettings, monkeypatch: pytest.MonkeyPatch) -> list[Watched]:
    """That storage, under the name that jobs look for first; returns what is opened."""
    monkeypatch.setattr(RemoteStorage, "opened", [])
    settings.STORAGES = {**settings.STORAGES, "jobs": {"BACKEND": "tests.videos.test_file_storages.RemoteStorage"}}
    return RemoteStorage.opened


def test_a_storage_elsewhere_serves_types_parts_and_conditions_alike(client: Client, elsewhere):
    ready_video()
    answer = client.get(address(FIRST), headers={"Range": "bytes=1000-1999"})
    assert (answer.status_code, body(answer), answer["Content-Type"]) == (206, SEGMENT[1000:2000], "video/mp4")
    assert client.get(address(FIRST), headers={"If-None-Match": answer["ETag"]}).status_code == 304
    assert client.get(address("360p/segment_00001.m4s")).status_code == 404


def test_files_are_read_in_blocks_and_never_more_than_was_asked_for(client: Client, elsewhere):
    video = ready_video()
    store(video, VERSION, "360p/segment_00001.m4s", b"x" * 5 * BLOCK)
    answer = client.get(address("360p/segment_00001.m4s"), headers={"Range": f"bytes=10-{3 * BLOCK}"})
    assert isinstance(answer, StreamingHttpResponse)
    sizes = [len(block) for block in answer.streaming_content]
    assert (max(sizes), sum(sizes)) == (BLOCK, 3 * BLOCK - 9)
    assert sum(elsewhere[-1].reads) == 3 * BLOCK - 9
    assert elsewhere[-1].closed


@pytest.mark.django_db(transaction=True)  # the end of an answer ends what the request had of the database
def test_a_file_is_closed_when_the_visitor_leaves_before_the_first_block(client: Client, elsewhere):
    ready_video()
    client.get(address(FIRST)).close()
    assert (len(elsewhere), elsewhere[0].reads, elsewhere[0].closed) == (1, [], True)


def test_an_answer_without_a_body_opens_no_file(client: Client, elsewhere):
    ready_video()
    etag = client.head(address(FIRST))["ETag"]
    client.get(address(FIRST), headers={"If-None-Match": etag})
    client.get(address(FIRST), headers={"Range": "bytes=99999-"})
    assert not elsewhere


class ForgetfulStorage(RemoteStorage):
    """Tells no time, and has an error of its own for what is not there."""

    def get_modified_time(self, name: str) -> datetime:
        raise NotImplementedError

    def size(self, name: str) -> int:
        if not self.exists(name):
            raise RuntimeError("404 no such key")
        return super().size(name)


class BrokenStorage(RemoteStorage):
    def size(self, name: str) -> int:
        raise RuntimeError("the network is down")


def test_a_storage_that_tells_no_time_still_tells_files_apart():
    storage = ForgetfulStorage()
    storage.save("videos/1/x/master.m3u8", ContentFile(b"abc"))
    found = find(storage, "videos/1/x/master.m3u8")
    assert isinstance(found, StoredFile)
    assert (found.timestamp, found.etag, b"".join(found.read(Part(1, 2)))) == (None, '"3-0.000000"', b"bc")
    assert find(storage, "videos/1/x/thumbnail.jpg") is None


def test_a_storage_that_is_broken_is_not_taken_for_an_empty_one():
    storage = BrokenStorage()
    storage.save("videos/1/x/master.m3u8", ContentFile(b"abc"))
    with pytest.raises(RuntimeError, match="the network is down"):
        find(storage, "videos/1/x/master.m3u8")


def test_nginx_is_told_which_file_to_send(client: Client, video, settings):
    settings.JOBS_VIDEO_ACCEL = "/stored/"
    answer = client.get(address(FIRST), headers={"Range": "bytes=0-9"})
    assert answer["X-Accel-Redirect"] == f"/stored/videos/{video.pk}/{VERSION}/{FIRST}"
    assert (answer.status_code, answer.content, answer["Content-Type"]) == (200, b"", "video/mp4")
    assert "immutable" in answer["Cache-Control"]
    assert "ETag" not in answer  # nginx makes its own
    assert "X-Accel-Redirect" not in client.get(address("manifest.json"))
