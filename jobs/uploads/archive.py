"""Reads a tar.gz as it comes, one plain file after the other. Nothing that it says is believed before it is checked."""

import tarfile
import zlib
from collections.abc import Callable, Collection, Iterator
from typing import Any, NoReturn, Self

from jobs.exceptions import JobyardError
from jobs.sanitise import printable
from jobs.uploads.errors import ArchiveRefused
from jobs.uploads.limits import Limits
from jobs.uploads.paths import checked_path
from jobs.uploads.receiving import Announced, Read

LARGEST_NOTE = 64 * 1024  # bytes of a header's extras (long names and the like), which are read into memory
NOTES = (tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.SOLARIS_XHDTYPE, tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK)
PLAIN = (*tarfile.REGULAR_TYPES, tarfile.DIRTYPE)


class CheckedHeader(tarfile.TarInfo):
    """A header that is refused before anything is done with it: links, devices, sparse files, endless names."""

    @classmethod
    def frombuf(cls, *args: Any, **kwargs: Any) -> Self:
        header: Self = super().frombuf(*args, **kwargs)
        if header.type in NOTES:
            if header.size > LARGEST_NOTE:
                raise ArchiveRefused(why=f"a name or note in it has {header.size} bytes")
        elif header.type not in PLAIN or header.type == tarfile.GNUTYPE_SPARSE:
            raise ArchiveRefused(why=f"{printable(header.name, 200)!r} is a link or no plain file")
        if header.size < 0:
            raise ArchiveRefused(why="a size in it is below zero")
        return header

    def refuse_sparse(self, header: tarfile.TarInfo, *about: Any) -> NoReturn:
        raise ArchiveRefused(why=f"{printable(header.name, 200)!r} is a sparse file")

    # How tarfile reads the three ways in which a note says it: as many numbers as the archive likes, into a list.
    _proc_gnusparse_00 = _proc_gnusparse_01 = _proc_gnusparse_10 = refuse_sparse


class Stream:
    """What tarfile reads from: the body, counted against the clock."""

    def __init__(self, read: Read, limits: Limits) -> None:
        self._read, self._limits = read, limits

    def read(self, size: int) -> bytes:
        self._limits.tick()
        return self._read(size)


def files_in(read: Read, suffixes: Collection[str], limits: Limits) -> Iterator[tuple[Announced, Read]]:
    """Each file, with what reads it; it must be read before the next one is asked for."""
    try:
        with tarfile.open(fileobj=Stream(read, limits), mode="r|gz", tarinfo=CheckedHeader) as archive:  # type: ignore[call-overload]
            for header in archive:
                limits.new_file(header.name)
                archive.members = []  # else each header stays in memory
                archive.pax_headers = {}  # and each note that is for all files
                if header.isdir():
                    continue
                content = archive.extractfile(header)
                assert content is not None  # it is a plain file
                yield Announced(checked_path(header.name, suffixes), header.size), reading(content.read)
    except (tarfile.TarError, zlib.error, EOFError, RecursionError, ValueError, OverflowError) as error:
        if isinstance(error, JobyardError):  # a refusal already, in its own words
            raise
        raise ArchiveRefused(why=f"it cannot be read: {printable(error, 200)}") from error


def reading(read: Callable[[int], bytes]) -> Read:
    """A file inside of an archive ends early where the archive does."""

    def wrapped(size: int) -> bytes:
        try:
            return read(size)
        except (tarfile.TarError, zlib.error, EOFError) as error:
            raise ArchiveRefused(why=f"it ends in the middle, or is damaged: {printable(error, 200)}") from error

    return wrapped
