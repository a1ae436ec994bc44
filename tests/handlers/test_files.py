"""The files that jobs share with the site: of a local storage where they lie, of any other copied."""

from pathlib import Path

import pytest
from django.core.files.base import ContentFile
from django.core.files.storage import FileSystemStorage, InMemoryStorage, Storage

from jobs.handlers.files import Files, job_storage


@pytest.fixture(params=["local", "remote"])
def storage(request: pytest.FixtureRequest, tmp_path: Path) -> Storage:
    return FileSystemStorage(tmp_path / "media") if request.param == "local" else InMemoryStorage()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "work").mkdir()
    return tmp_path / "work"


def save(storage: Storage, name: str, content: bytes = b"content") -> None:
    storage.save(name, ContentFile(content))


def read(storage: Storage, name: str) -> bytes:
    with storage.open(name) as file:
        content: bytes = file.read()
        return content


def test_a_file_is_fetched_as_a_path(storage: Storage, folder: Path):
    save(storage, "in/a film.mp4")
    assert Files(storage).fetch("in/a film.mp4", folder).read_bytes() == b"content"


def test_of_a_local_storage_it_is_where_it_lies(tmp_path: Path, folder: Path):
    storage = FileSystemStorage(tmp_path / "media")
    save(storage, "a.mp4")
    assert Files(storage).fetch("a.mp4", folder) == tmp_path / "media" / "a.mp4"


def test_of_another_one_it_is_copied_once_and_a_copy_that_was_cut_off_again(folder: Path):
    storage = InMemoryStorage()
    save(storage, "a.mp4")
    copy = Files(storage).fetch("a.mp4", folder)
    copy.write_bytes(b"CONTENT")  # as long as it should be
    assert Files(storage).fetch("a.mp4", folder).read_bytes() == b"CONTENT"
    copy.write_bytes(b"con")
    assert Files(storage).fetch("a.mp4", folder).read_bytes() == b"content"


def test_what_is_not_there_cannot_be_fetched(storage: Storage, folder: Path):
    with pytest.raises(FileNotFoundError):
        Files(storage).fetch("none.mp4", folder)


def test_a_folder_is_stored_with_all_in_it_and_fetched_again(storage: Storage, folder: Path, tmp_path: Path):
    (folder / "deep").mkdir()
    (folder / "top.txt").write_text("top")
    (folder / "deep" / "down.txt").write_text("down")
    Files(storage).put(folder, "out/version")
    assert read(storage, "out/version/top.txt") == b"top"
    assert read(storage, "out/version/deep/down.txt") == b"down"
    Files(storage).fetch_folder("out/version/deep", tmp_path / "again")
    assert (tmp_path / "again" / "down.txt").read_text() == "down"


def test_what_cannot_be_stored_whole_leaves_nothing_behind(tmp_path: Path, folder: Path):
    storage = FileSystemStorage(tmp_path / "media")
    (folder / "a.txt").write_text("a")
    (folder / "b.txt").write_text("b")
    (tmp_path / "media" / "out" / "b.txt").mkdir(parents=True)  # in the way
    with pytest.raises(OSError):
        Files(storage).put(folder, "out")
    assert not storage.exists("out/a.txt")


def test_what_was_stored_stays_as_it_is_when_the_work_is_removed(storage: Storage, folder: Path):
    (folder / "a.txt").write_text("stored")
    Files(storage).put(folder, "out")
    (folder / "a.txt").unlink()
    (folder / "a.txt").write_text("written anew")
    assert read(storage, "out/a.txt") == b"stored"


def test_jobs_may_have_a_storage_of_their_own(settings, tmp_path: Path):
    settings.MEDIA_ROOT = tmp_path / "media"
    assert Path(job_storage().path("a")) == tmp_path / "media" / "a"
    own = {"BACKEND": "django.core.files.storage.FileSystemStorage", "OPTIONS": {"location": tmp_path / "own"}}
    settings.STORAGES = {**settings.STORAGES, "jobs": own}
    assert Path(job_storage().path("a")) == tmp_path / "own" / "a"
