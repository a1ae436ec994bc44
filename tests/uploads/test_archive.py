"""Archives as they come: plain files are taken one by one, and everything that could do harm is refused."""

import gzip
import io
import os
import tarfile
import tracemalloc
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from random import Random

import pytest

from jobs.exceptions import InvalidInput
from jobs.uploads.archive import files_in
from jobs.uploads.errors import ArchiveRefused, NameRefused, TooLarge
from jobs.uploads.limits import Limits

SUFFIXES = frozenset({".m4s", ".mp4"})
Member = tuple[tarfile.TarInfo, bytes]


def plain(name: str, content: bytes = b"content") -> Member:
    header = tarfile.TarInfo(name)
    header.size = len(content)
    return header, content


def of_type(kind: bytes, name: str = "link.mp4", target: str = "/etc/passwd") -> Member:
    header = tarfile.TarInfo(name)
    header.type, header.linkname = kind, target
    return header, b""


def packed(members: Iterable[Member], style: int = tarfile.PAX_FORMAT) -> bytes:
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w:gz", format=style) as archive:
        for header, content in members:
            archive.addfile(header, io.BytesIO(content))
    return file.getvalue()


@contextmanager
def in_little_memory(most: int) -> Iterator[None]:
    """Measures from where it begins."""
    tracemalloc.start()
    try:
        yield
        assert tracemalloc.get_traced_memory()[1] < most
    finally:
        tracemalloc.stop()


def unpacked(body: bytes, limits: Limits | None = None) -> dict[str, bytes]:
    read: Callable[[int], bytes] = io.BytesIO(body).read
    return {file.path: content(file.size) for file, content in files_in(read, SUFFIXES, limits or Limits())}


@pytest.mark.parametrize("style", [tarfile.PAX_FORMAT, tarfile.GNU_FORMAT, tarfile.USTAR_FORMAT])
def test_plain_files_come_one_after_the_other(style):
    folder = tarfile.TarInfo("720p")
    folder.type = tarfile.DIRTYPE
    long = "a" * 60 + "/" + "b" * 60 + ".mp4"
    timed, content = plain("timed.mp4")
    timed.mtime = 1.5  # of which a note is made
    members = [
        (folder, b""),
        plain("720p/one.m4s", b"1" * 100_000),
        plain(long),
        (timed, content),
        plain("empty.mp4", b""),
    ]
    assert unpacked(packed(members, style)) == {
        "720p/one.m4s": b"1" * 100_000, long: b"content", "timed.mp4": b"content", "empty.mp4": b"",
    }  # fmt: skip


@pytest.mark.parametrize(
    "member",
    [
        of_type(tarfile.SYMTYPE), of_type(tarfile.LNKTYPE), of_type(tarfile.CHRTYPE), of_type(tarfile.BLKTYPE),
        of_type(tarfile.FIFOTYPE), of_type(tarfile.GNUTYPE_SPARSE), of_type(b"?"),
        of_type(tarfile.SYMTYPE, "720p", "/tmp"),
    ],
)  # fmt: skip
def test_links_and_what_is_no_plain_file_are_refused(member):
    with pytest.raises(ArchiveRefused, match="is a link or no plain file"):
        unpacked(packed([member, plain("720p/x.mp4")]))


@pytest.mark.parametrize("name", ["../x.mp4", "/etc/x.mp4", "a/../../x.mp4", "x.py", ".incoming/x.mp4"])
def test_names_are_as_carefully_looked_at_as_those_of_single_files(name):
    with pytest.raises(NameRefused):
        unpacked(packed([plain(name)]))


def test_a_name_in_a_note_is_no_way_around():
    header, content = plain("fine.mp4")
    header.pax_headers = {"path": "../../outside.mp4"}
    with pytest.raises(NameRefused):
        unpacked(packed([(header, content)]))


@pytest.mark.parametrize(
    "note",
    [
        {"GNU.sparse.size": "512", "GNU.sparse.offset": "0", "GNU.sparse.numbytes": "512"},
        {"GNU.sparse.map": "0,512"},
        {"GNU.sparse.major": "1", "GNU.sparse.minor": "0", "GNU.sparse.realsize": str(2**60)},
    ],
    ids=["0.0", "0.1", "1.0"],
)
def test_a_sparse_file_by_a_note_is_refused_and_its_map_is_not_read(note):
    numbers = Random(1).choices(range(10**6), k=200_000)  # which are not packed so small that a block has them all
    header, content = plain("fine.mp4", b"100000\n" + b"".join(b"%d\n" % number for number in numbers))
    header.pax_headers = note
    body = packed([(header, content)])
    with in_little_memory(2_000_000), pytest.raises(ArchiveRefused, match=r"'fine\.mp4' is a sparse file"):
        unpacked(body)


def test_notes_for_all_files_do_not_pile_up():
    def noted(number: int) -> bytes:
        note = tarfile.TarInfo.create_pax_global_header({f"note{number}": os.urandom(30_000).hex()})
        return note + plain(f"f{number}.mp4", b"")[0].tobuf(tarfile.USTAR_FORMAT)

    body = gzip.compress(b"".join(map(noted, range(100))) + bytes(1024))
    with in_little_memory(3_000_000):
        assert len(unpacked(body)) == 100


def test_a_bomb_is_noticed_before_it_goes_off(settings):
    settings.JOBS_UPLOAD_MAX_FILE = 1_000_000
    limits = Limits()
    read = io.BytesIO(packed([plain("bomb.mp4", b"\0" * 50_000_000)])).read
    [(announced, _)] = [next(files_in(read, SUFFIXES, limits))]
    with pytest.raises(TooLarge, match="bomb"):
        limits.announced(announced.path, announced.size)


def test_a_note_that_would_fill_the_memory_is_not_read():
    header = tarfile.TarInfo("././@PaxHeader")
    header.type, header.size = tarfile.XHDTYPE, 500_000_000
    body = gzip.compress(header.tobuf(tarfile.USTAR_FORMAT) + b"\0" * 20_000_000, 1)
    refused = pytest.raises(ArchiveRefused, match="a name or note in it has 500000000 bytes")
    with in_little_memory(15_000_000), refused:
        unpacked(body)


def test_too_many_files_are_refused_folders_and_all(settings):
    settings.JOBS_UPLOAD_MAX_FILES = 3
    with pytest.raises(TooLarge, match="JOBS_UPLOAD_MAX_FILES"):
        unpacked(packed([of_type(tarfile.DIRTYPE, f"d{number}") for number in range(4)]))


@pytest.mark.parametrize(
    "damaged",
    [
        b"", b"not an archive", packed([plain("x.mp4")])[:-30], packed([plain("x.mp4", b"1" * 99_999)])[:60],
        gzip.compress(b"not a tar" * 200), packed([plain("x.mp4", bytes(range(256)) * 99)])[:150],
    ],
    ids=["empty", "text", "end cut off", "content cut off", "no tar inside", "damaged content"],
)  # fmt: skip
def test_what_is_damaged_or_cut_off_is_refused(damaged):
    with pytest.raises(InvalidInput):
        unpacked(damaged)


def test_thousands_of_files_are_read_in_little_memory():
    body = packed(plain(f"f{number}.m4s", os.urandom(1000)) for number in range(3000))
    with in_little_memory(2_000_000):
        number = sum(1 for file, content in files_in(io.BytesIO(body).read, SUFFIXES, Limits()) if content(file.size))
    assert number == 3000
