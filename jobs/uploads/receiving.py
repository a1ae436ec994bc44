"""Takes a file in block by block: into a temporary one, checked, on the disk, and only then under its name."""

import errno
import functools
import hashlib
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, BinaryIO
from uuid import uuid4

from django.core.files import File
from django.core.files.storage import Storage

from jobs.handlers.files import flush, local_path
from jobs.handlers.folders import remove
from jobs.uploads.errors import StorageFull, TooLarge, WrongContent
from jobs.uploads.limits import Limits

BLOCK = 1024 * 1024
INCOMING = ".incoming"  # a name that no uploaded file can have
FULL = (errno.ENOSPC, errno.EDQUOT)
Read = Callable[[int], bytes]


@dataclass(frozen=True)
class Arrived:
    path: str
    size: int
    sha256: str


@dataclass(frozen=True)
class Announced:
    """What the sender says of a file. An empty hash: it is told by the archive that the file is in, or not at all."""

    path: str
    size: int
    sha256: str = ""


GiveName = Callable[[], None]
Admit = Callable[[Arrived, GiveName], None]  # calls what it is given, or raises why the file is not taken


def nothing_more() -> None:
    """For a file that has its name already."""


def at_once(arrived: Arrived, give_name: GiveName) -> None:
    give_name()


class Landing:
    """The folder of one attempt in the storage, while its files arrive."""

    def __init__(self, storage: Storage, folder: str) -> None:
        self.storage, self.folder = storage, folder
        self.place = local_path(storage, folder)

    def receive(self, announced: Announced, read: Read, limits: Limits, admit: Admit = at_once) -> Arrived:
        """All of it, or nothing: raises WrongContent where it is not as announced. Repeated, it replaces the file."""
        limits.announced(announced.path, announced.size)
        with room_for(announced.path), self._draft() as draft:
            arrived = copy(read, draft, announced, limits)
            self._keep(draft, arrived, limits, admit)
        return arrived

    def remove(self, path: str) -> None:
        self.storage.delete(f"{self.folder}/{path}")

    def sweep(self) -> None:
        """What killed servers left half-written."""
        if self.place is not None:
            remove(self.place / INCOMING)

    @contextmanager
    def _draft(self) -> Iterator[IO[bytes]]:
        """On a local disk beside the files, so that a rename is enough. It goes, unless it got its name."""
        if self.place is None:
            with TemporaryFile() as file:
                yield file
            return
        path = self.place / INCOMING / uuid4().hex
        make_folder(self.place, path.parent)
        try:
            with path.open("xb") as file:
                yield file
        finally:
            path.unlink(missing_ok=True)

    def _keep(self, draft: IO[bytes], arrived: Arrived, limits: Limits, admit: Admit) -> None:
        if self.place is None:
            limits.go_on()  # to hand it on takes too long for a lock: it is asked before, and noted after
            self._hand_on(draft, arrived.path)
            try:
                admit(arrived, nothing_more)
            except TooLarge:  # others came first; nobody would know of it
                self.remove(arrived.path)
                raise
            return
        draft.flush()
        os.fchmod(draft.fileno(), getattr(self.storage, "file_permissions_mode", None) or 0o644)
        os.fsync(draft.fileno())
        target = self.place / arrived.path
        # Once: a transaction that collides with another is tried again, and the name is given already.
        admit(arrived, functools.cache(functools.partial(give_name, draft.name, self.place, target)))
        flush(target.parent)

    def _hand_on(self, draft: IO[bytes], path: str) -> None:
        """To a storage elsewhere. Django's storages take another name where one is taken, and we do not."""
        name = f"{self.folder}/{path}"
        draft.seek(0)
        if self.storage.exists(name):
            self.storage.delete(name)
        stored = self.storage.save(name, File(draft))
        if stored != name:
            self.storage.delete(stored)
            raise WrongContent(path=path, why=f"the storage calls it {stored!r}; is it being sent twice at once?")


def copy(read: Read, draft: IO[bytes], announced: Announced, limits: Limits) -> Arrived:
    digest, size = hashlib.sha256(), 0
    while size < announced.size and (block := read(min(BLOCK, announced.size - size))):
        limits.tick()
        digest.update(block)
        draft.write(block)
        size += len(block)
    if size != announced.size:
        raise WrongContent(path=announced.path, why=f"{size} bytes came, of {announced.size}")
    if announced.sha256 and announced.sha256 != digest.hexdigest():
        raise WrongContent(path=announced.path, why=f"its SHA-256 is {digest.hexdigest()}")
    return Arrived(announced.path, size, digest.hexdigest())


def give_name(draft: str, root: Path, target: Path) -> None:
    make_folder(root, target.parent)
    try:
        os.replace(draft, target)
    except FileNotFoundError:
        why = "it was swept away with what seemed left behind"
        raise WrongContent(path=target.relative_to(root).as_posix(), why=why) from None


def make_folder(root: Path, folder: Path) -> None:
    """Whoever can write to the storage by other ways could put a link there, and have us write to where it leads."""
    below = folder.relative_to(root)
    if Path(os.path.realpath(folder)) != Path(os.path.realpath(root.parent), root.name, below):
        raise WrongContent(path=below.as_posix(), why="a link is in the way")
    folder.mkdir(parents=True, exist_ok=True)


@contextmanager
def room_for(path: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if error.errno in FULL:
            raise StorageFull(path=path) from error
        raise


def digest_of(file: BinaryIO | File) -> str:
    """Of a file that is stored already, read once, whole."""
    digest = hashlib.sha256()
    while block := file.read(BLOCK):
        digest.update(block)
    return digest.hexdigest()
