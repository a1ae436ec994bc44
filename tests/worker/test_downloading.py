"""A source over a connection that breaks, lies and forgets: whole and right under its name, or not there."""

import hashlib
import os
from pathlib import Path
from uuid import uuid4

import pytest

from jobs.exceptions import Cancelled
from jobs.handlers.base import ClaimRef
from jobs.worker import file_calls
from jobs.worker.downloading import Damaged, Download, NoRoom
from jobs.worker.file_calls import FileCalls, ServerAway
from jobs.worker.signed_urls import opened_url
from tests.uploads.small_disk import small_disk
from tests.worker.shaky_server import ShakyServer, shaky_server

__all__ = ["small_disk"]
CONTENT = os.urandom(2_000_000)
SHA256 = hashlib.sha256(CONTENT).hexdigest()


class Going:
    """An attempt that goes on until it is told otherwise."""

    def __init__(self, looks: int = 1000) -> None:
        self.looks = looks

    def raise_if_cancelled(self) -> None:
        self.looks -= 1
        if not self.looks:
            raise Cancelled(job_id=1)

    def guard(self) -> None:
        self.raise_if_cancelled()


@pytest.fixture(autouse=True)
def _in_a_hurry(monkeypatch):
    monkeypatch.setattr(file_calls, "FIRST_PAUSE", 0.01)


def fetched(
    server: ShakyServer, folder: Path, sha256: str = SHA256, size: int = len(CONTENT), looks: int = 1000
) -> Path:
    target = folder / "source.mp4"
    download = Download("sources/1/source.mp4", size, sha256, target, lambda headers: opened_url(server.url, headers))
    download.run(FileCalls(None, ClaimRef(1, uuid4()), Going(looks)).patiently)  # type: ignore[arg-type]  # no server of ours
    assert target.read_bytes() == server.content
    assert list(folder.iterdir()) == [target]
    return target


@pytest.mark.parametrize(
    "mischief",
    [
        [], ["breaks"], ["breaks", "breaks", "503", "breaks"], ["503", "404", "500", "200"], ["no ranges"],
        ["breaks", "no ranges"], ["damaged"], ["damaged", "breaks", "damaged"], ["breaks", "416"],
    ],
)  # fmt: skip
def test_it_comes_whole_and_right_whatever_happens_on_the_way(tmp_path, mischief):
    with shaky_server(CONTENT, *mischief) as server:
        fetched(server, tmp_path)
    assert not any(server.keys), "our key is nobody else's business"


def test_after_a_break_only_the_rest_is_asked_for_and_of_the_same_file(tmp_path):
    with shaky_server(CONTENT, "breaks") as server:
        fetched(server, tmp_path)
    [first, (rest, tag)] = server.asked
    assert (first, tag) == (("", ""), f'"{SHA256}"')
    assert 900_000 < int(rest.removeprefix("bytes=").removesuffix("-")) <= 1_000_000


def test_where_the_rest_is_not_to_be_had_it_begins_anew(tmp_path):
    with shaky_server(CONTENT, "breaks", "416") as server:
        fetched(server, tmp_path)
    assert [bool(rest) for rest, _ in server.asked] == [False, True, False]


def test_what_an_earlier_attempt_began_is_gone_on_with(tmp_path):
    (tmp_path / "source.mp4.part").write_bytes(CONTENT[:1_500_000])
    with shaky_server(CONTENT) as server:
        fetched(server, tmp_path)
    assert server.asked == [("bytes=1500000-", f'"{SHA256}"')]


@pytest.mark.parametrize("part", [b"of another file", CONTENT + b"and more", b"x" * len(CONTENT)])
def test_a_part_of_something_else_is_found_out(tmp_path, part):
    (tmp_path / "source.mp4.part").write_bytes(part)
    with shaky_server(CONTENT) as server:
        fetched(server, tmp_path)


def test_without_a_hash_nothing_is_put_together_from_two_times(tmp_path):
    (tmp_path / "source.mp4.part").write_bytes(b"x" * 1_000_000)
    with shaky_server(CONTENT, "breaks") as server:
        fetched(server, tmp_path, sha256="")


@pytest.mark.parametrize("changed", [{"sha256": "0" * 64}, {"size": len(CONTENT) - 1}, {"size": len(CONTENT) + 5}])
def test_a_file_that_is_never_as_announced_is_no_source(tmp_path, changed, monkeypatch):
    monkeypatch.setattr(file_calls, "PATIENCE", 0.2)
    with shaky_server(CONTENT) as server, pytest.raises((Damaged, ServerAway)):
        fetched(server, tmp_path, **changed)
    assert not (tmp_path / "source.mp4").exists()


def test_a_server_that_stays_away_is_not_waited_for_for_ever(tmp_path, monkeypatch):
    monkeypatch.setattr(file_calls, "PATIENCE", 0.2)
    with shaky_server(CONTENT, *["503"] * 500) as server, pytest.raises(ServerAway, match="the storage answered 503"):
        fetched(server, tmp_path)


def test_an_attempt_that_must_stop_does_not_go_on_waiting(tmp_path):
    with shaky_server(CONTENT, *["503"] * 500) as server, pytest.raises(Cancelled):
        fetched(server, tmp_path, looks=5)


def test_a_full_disk_is_told_with_what_to_do(small_disk):
    with shaky_server(CONTENT) as server, pytest.raises(NoRoom, match="JOBS_WORK_DIR"):
        fetched(server, small_disk)
    assert list(small_disk.iterdir()) == []
