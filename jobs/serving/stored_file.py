"""A file in the storage, as it is served: its size, its age, and its bytes block by block."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.core.files.storage import Storage

from jobs.handlers.files import local_path
from jobs.serving.ranges import Part

BLOCK = 64 * 1024


@dataclass(frozen=True)
class StoredFile:
    storage: Storage
    name: str
    size: int
    modified: datetime | None  # None where the storage does not know
    sha256: str = ""  # empty: not known

    @property
    def etag(self) -> str:
        if self.sha256:
            return f'"{self.sha256}"'
        return f'"{self.size:x}-{self.modified.timestamp() if self.modified else 0:.6f}"'

    @property
    def timestamp(self) -> int | None:
        return int(self.modified.timestamp()) if self.modified else None

    def read(self, part: Part) -> "Blocks":
        return Blocks(self.storage.open(self.name, "rb"), part)


class Blocks(Iterator[bytes]):
    """A part of an open file. The server closes it, also when the visitor leaves before the first block."""

    def __init__(self, file: Any, part: Part) -> None:
        self._file, self._left = file, part.length
        if part.start:
            file.seek(part.start)

    def __next__(self) -> bytes:
        block: bytes = self._file.read(min(BLOCK, self._left)) if self._left else b""
        if not block:
            self.close()
            raise StopIteration
        self._left -= len(block)
        return block

    def close(self) -> None:
        self._left = 0
        self._file.close()


def find(storage: Storage, name: str) -> StoredFile | None:
    """The file of this name; None if there is none, or if what is there is no file of ours."""
    if not is_in_place(storage, name):
        return None
    try:
        size = storage.size(name)
    except FileNotFoundError:
        return None
    except Exception:  # each remote storage has an error of its own for what is not there
        if storage.exists(name):
            raise
        return None
    return StoredFile(storage, name, size, modified_at(storage, name))


def is_in_place(storage: Storage, name: str) -> bool:
    """Whether it is a plain file where its name says.

    A whole shelf, the first part of a name, may be a link to a larger disk. Nothing below may: it could lead anywhere.
    """
    path, root = local_path(storage, name), local_path(storage, name.partition("/")[0])
    if path is None or root is None:  # not on a local disk
        return True
    return path.is_file() and os.path.realpath(path) == os.path.join(os.path.realpath(root), path.relative_to(root))


def modified_at(storage: Storage, name: str) -> datetime | None:
    """When a file was last written; None if it is gone, or if the storage does not know."""
    try:
        return storage.get_modified_time(name)
    except (NotImplementedError, FileNotFoundError):
        return None
