"""The files that jobs share with the site: Django's storage, as local paths for programs that need them."""

import logging
import os
import shutil
from collections.abc import Sequence
from pathlib import Path, PurePosixPath
from typing import Protocol
from uuid import uuid4

from django.conf import settings
from django.core.files import File
from django.core.files.storage import FileSystemStorage, Storage, storages

logger = logging.getLogger("jobs.files")
ALIAS = "jobs"


def job_storage() -> Storage:
    """STORAGES["jobs"] where it is configured, else the default one."""
    return storages[ALIAS if ALIAS in settings.STORAGES else "default"]


class JobFiles(Protocol):
    """What a handler does with files, wherever they are. Names are those in the storage."""

    def fetch(self, name: str, folder: Path) -> Path: ...
    def fetch_folder(self, name: str, folder: Path) -> None: ...
    def put(self, folder: Path, name: str) -> None: ...
    def remove(self, name: str, files: Sequence[str]) -> None: ...


class Files:
    """What a handler sees of a storage that is at hand."""

    def __init__(self, storage: Storage) -> None:
        self.storage = storage

    def fetch(self, name: str, folder: Path) -> Path:
        """The file as a path on this machine: where it is, or else a copy in `folder`."""
        local = self._path(name)
        if local is not None:
            local.stat()  # raises where there is none
            return local
        target = folder / PurePosixPath(name).name
        if not (target.exists() and target.stat().st_size == self.storage.size(name)):
            copy_in(self.storage, name, target)
        return target

    def fetch_folder(self, name: str, folder: Path) -> None:
        """Copy the files of one folder; where a hard link will do, no byte is copied."""
        folder.mkdir(parents=True, exist_ok=True)
        for each in self.storage.listdir(name)[1]:
            local, target = self._path(f"{name}/{each}"), folder / each
            target.unlink(missing_ok=True)
            if local is None or not linked(local, target):
                copy_in(self.storage, f"{name}/{each}", target)

    def put(self, folder: Path, name: str) -> None:
        """Store a folder with all in it under a name that is not there yet; it is on disk when this returns.

        What could not be stored whole is taken away again: half of it would only fill the disk.
        """
        try:
            self._put(folder, name)
        except BaseException:
            self.remove(name, [path.relative_to(folder).as_posix() for path in files_below(folder)])
            raise

    def remove(self, name: str, files: Sequence[str]) -> None:
        for file in files:
            try:
                self.storage.delete(f"{name}/{file}")
            except OSError as error:
                logger.warning("%s/%s could not be removed from the storage: %s", name, file, error)

    def _put(self, folder: Path, name: str) -> None:
        target = self._path(name)
        if target is None:
            for path in files_below(folder):
                with path.open("rb") as file:
                    self.storage.save(f"{name}/{path.relative_to(folder).as_posix()}", File(file))
            return
        target.parent.mkdir(parents=True, exist_ok=True)
        for path in files_below(folder):
            place(path, target / path.relative_to(folder), self.storage)
        for parent in {target.parent, target, *(path.parent for path in files_below(target))}:
            flush(parent)

    def _path(self, name: str) -> Path | None:
        return local_path(self.storage, name)


def local_path(storage: Storage, name: str) -> Path | None:
    """None where files are elsewhere. That a storage has a `path()` says little: the one in memory has it, too."""
    return Path(storage.path(name)) if isinstance(storage, FileSystemStorage) else None


def files_below(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


def place(path: Path, target: Path, storage: Storage) -> None:
    """A copy, or a second name for the same bytes: the work stays where it is until the outcome is stored."""
    target.parent.mkdir(parents=True, exist_ok=True)
    if not linked(path, target):
        shutil.copyfile(path, target)
    os.chmod(target, getattr(storage, "file_permissions_mode", None) or 0o644)
    flush(target)


def linked(path: Path, target: Path) -> bool:
    try:
        os.link(path, target)
    except OSError:  # another file system, or one that knows no links
        return False
    return True


def copy_in(storage: Storage, name: str, target: Path) -> None:
    """Whole or not at all: a copy that was cut off is not found under the name."""
    part = target.with_name(target.name + ".part")
    with storage.open(name) as source, part.open("wb") as file:
        shutil.copyfileobj(source, file, 1024 * 1024)
    part.replace(target)


def write_whole(path: Path, text: str) -> None:
    """As a new file, whole and on the disk before it has the name: whoever shares the old one's bytes keeps them."""
    draft = path.with_name(f"{path.name}.{uuid4().hex}.draft")  # nobody else's: two attempts may be at it
    draft.write_text(text)
    flush(draft)
    draft.replace(path)
    flush(path.parent)


def flush(path: Path) -> None:
    """To the disk, files and directories alike."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
