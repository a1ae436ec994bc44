"""Files that arrive: whole and as announced under their name, or not at all."""

import hashlib
import io
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from django.core.files.storage import FileSystemStorage, InMemoryStorage, Storage

from jobs.uploads.errors import StorageFull, TooLarge, TooSlow, WrongContent
from jobs.uploads.limits import Limits, too_large
from jobs.uploads.receiving import INCOMING, Announced, Arrived, GiveName, Landing

FOLDER, PATH = "videos/1/7-0123abcd", "720p/segment_00000.m4s"
CONTENT = os.urandom(3_000_000)
SHA256 = hashlib.sha256(CONTENT).hexdigest()
WHOLE = Announced(PATH, len(CONTENT), SHA256)


@pytest.fixture(params=["disk", "elsewhere"])
def storage(request, tmp_path: Path) -> Storage:
    return FileSystemStorage(tmp_path / "media") if request.param == "disk" else InMemoryStorage()


def send(storage: Storage, announced: Announced = WHOLE, content: bytes = CONTENT, limits: Limits | None = None):
    return Landing(storage, FOLDER).receive(announced, io.BytesIO(content).read, limits or Limits())


def stored(storage: Storage) -> bytes | None:
    name = f"{FOLDER}/{PATH}"
    if not storage.exists(name):
        return None
    with storage.open(name) as file:
        return file.read()


def test_a_file_arrives_whole_and_can_be_sent_again(storage):
    for _ in range(2):
        assert send(storage) == Arrived(PATH, len(CONTENT), SHA256)
        assert stored(storage) == CONTENT
    newer = Announced(PATH, 3, hashlib.sha256(b"new").hexdigest())
    send(storage, newer, b"new")
    assert stored(storage) == b"new"


@pytest.mark.parametrize(
    ("announced", "content", "why"),
    [
        (WHOLE, CONTENT[:-1], "2999999 bytes came, of 3000000"),
        (WHOLE, b"", "0 bytes came"),
        (WHOLE, CONTENT[:-1] + bytes([CONTENT[-1] ^ 1]), "its SHA-256 is"),
        (Announced(PATH, 10, SHA256), CONTENT, "its SHA-256 is"),
    ],
)
def test_what_is_not_as_announced_leaves_nothing_and_the_old_one_stays(storage, announced, content, why):
    with pytest.raises(WrongContent, match=why):
        send(storage, announced, content)
    assert stored(storage) is None
    send(storage)
    with pytest.raises(WrongContent):
        send(storage, announced, content)
    assert stored(storage) == CONTENT


def test_a_sender_who_leaves_in_the_middle_leaves_no_half(tmp_path):
    storage = FileSystemStorage(tmp_path)

    def read(size: int) -> bytes:
        if read.__dict__.setdefault("blocks", 0):
            raise OSError("The visitor left before the body was complete.")
        read.__dict__["blocks"] += 1
        return CONTENT[:size]

    with pytest.raises(OSError, match="left"):
        Landing(storage, FOLDER).receive(WHOLE, read, Limits())
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_it_is_on_the_disk_before_it_has_its_name(tmp_path, monkeypatch):
    """The order is what counts after a power cut: content, name, and the directory that holds it."""
    steps: list[str] = []
    fsync, replace = os.fsync, os.replace

    def noted(handle: int) -> None:
        steps.append("sync " + os.path.basename(os.path.dirname(os.readlink(f"/proc/self/fd/{handle}"))))
        fsync(handle)

    def named(draft: str, target: Path) -> None:
        steps.append("name")
        replace(draft, target)

    monkeypatch.setattr(os, "fsync", noted)
    monkeypatch.setattr(os, "replace", named)
    send(FileSystemStorage(tmp_path))
    assert steps == [f"sync {INCOMING}", "name", "sync 7-0123abcd"]


def test_what_says_that_it_is_too_large_is_not_read(storage, settings):
    settings.JOBS_UPLOAD_MAX_FILE = len(CONTENT) - 1
    with pytest.raises(TooLarge, match="JOBS_UPLOAD_MAX_FILE allows 2999999 bytes"):
        send(storage, content=b"never read")


def test_what_is_found_too_much_at_last_is_not_left_there(storage):
    def full(arrived: Arrived, give_name: GiveName) -> None:
        raise too_large(arrived.path, "JOBS_UPLOAD_MAX_TOTAL", "1 byte")

    with pytest.raises(TooLarge, match="JOBS_UPLOAD_MAX_TOTAL"):
        Landing(storage, FOLDER).receive(WHOLE, io.BytesIO(CONTENT).read, Limits(), full)
    assert stored(storage) is None


def test_an_upload_takes_no_longer_than_it_may(storage, settings):
    settings.JOBS_UPLOAD_MAX_TIME = 0
    with pytest.raises(TooSlow, match="JOBS_UPLOAD_MAX_TIME"):
        send(storage)
    assert stored(storage) is None


def test_whether_to_go_on_is_asked_meanwhile(storage):
    def lost() -> None:
        raise RuntimeError("claim lost")

    with pytest.raises(RuntimeError, match="claim lost"):
        send(storage, limits=Limits(go_on=lost, every=0))
    assert stored(storage) is None


def test_before_a_file_is_handed_on_elsewhere_it_is_asked_for_the_last_time():
    storage, asked = InMemoryStorage(), []
    send(storage, limits=Limits(go_on=lambda: asked.append(stored(storage))))
    assert asked == [None]


def test_who_admits_a_file_may_say_twice_that_it_gets_its_name(tmp_path):
    """A transaction that collides with another is tried again, with all in it."""

    def twice(arrived: Arrived, give_name: Callable[[], None]) -> None:
        give_name()
        give_name()

    storage = FileSystemStorage(tmp_path)
    Landing(storage, FOLDER).receive(WHOLE, io.BytesIO(CONTENT).read, Limits(), twice)
    assert stored(storage) == CONTENT


@pytest.mark.parametrize("link", ["", "720p", INCOMING])
def test_nothing_is_written_through_a_link(tmp_path, link):
    outside, folder = tmp_path / "outside", tmp_path / "media" / FOLDER
    outside.mkdir()
    (folder / link).parent.mkdir(parents=True, exist_ok=True)
    (folder / link).symlink_to(outside)
    with pytest.raises(WrongContent, match="a link is in the way"):
        send(FileSystemStorage(tmp_path / "media"))
    assert list(outside.iterdir()) == []


def test_a_full_disk_is_told_in_words_and_leaves_nothing(small_disk):
    storage = FileSystemStorage(small_disk)
    with pytest.raises(StorageFull, match=f"no room left for {PATH}"):
        send(storage)
    assert [path for path in small_disk.rglob("*") if path.is_file()] == []


def test_a_file_may_lie_at_the_top_and_its_shelf_on_another_disk(tmp_path):
    """A link above the attempt's own folder is the operator's doing."""
    (tmp_path / "large").mkdir()
    (tmp_path / "media").mkdir()
    (tmp_path / "media" / "videos").symlink_to(tmp_path / "large")
    send(FileSystemStorage(tmp_path / "media"), Announced("master.m3u8", 3), b"abc")
    assert (tmp_path / "large/1/7-0123abcd/master.m3u8").read_bytes() == b"abc"


def test_what_a_killed_server_left_is_swept(tmp_path):
    landing = Landing(FileSystemStorage(tmp_path), FOLDER)
    half = tmp_path / FOLDER / INCOMING / "0123"
    half.parent.mkdir(parents=True)
    half.write_bytes(b"half")
    landing.sweep()
    assert not half.parent.exists()
