"""Looks into the storage and removes what is ours there: by paths on a local disk, else through Django's storage API.

Links are never followed: what they point to is not ours.
"""

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory

from django.core.files.storage import Storage

from jobs.handlers.files import Files, local_path
from jobs.handlers.folders import remove

logger = logging.getLogger("jobs.videos")


def folders_in(storage: Storage, name: str) -> list[str]:
    return contents(storage, name)[0]


def files_in(storage: Storage, name: str) -> list[str]:
    return contents(storage, name)[1]


def contents(storage: Storage, name: str) -> tuple[list[str], list[str]]:
    """The names of the folders and of the files in a folder; none if there is no such folder."""
    path = local_path(storage, name)
    try:
        if path is None:
            folders, files = storage.listdir(name)
        else:
            folders, files = local_contents(path, may_be_link="/" not in name)
    except (FileNotFoundError, NotADirectoryError):
        return [], []
    return sorted(filter(None, folders)), sorted(filter(None, files))


def local_contents(path: Path, *, may_be_link: bool) -> tuple[list[str], list[str]]:
    """A whole shelf may be a link, to a larger disk for example; a folder on it may not."""
    if path.is_symlink() and not may_be_link:
        return [], []
    with os.scandir(path) as entries:
        found = [(entry.name, entry.is_dir(follow_symlinks=False)) for entry in entries]
    return [name for name, is_folder in found if is_folder], [name for name, is_folder in found if not is_folder]


def remove_file(storage: Storage, name: str) -> bool:
    """Whether it is gone."""
    try:
        storage.delete(name)
    except Exception as error:  # each remote storage has errors of its own
        logger.warning("could not be removed file=%s error=%r", name, str(error))
        return False
    return True


def remove_folder(storage: Storage, name: str) -> bool:
    """Remove a folder with all in it; whether it is gone."""
    path = local_path(storage, name)
    if path is not None:
        remove(path)
        return not path.is_symlink() and not path.exists()
    folders, files = contents(storage, name)
    gone = [remove_folder(storage, f"{name}/{each}") for each in folders]
    gone += [remove_file(storage, f"{name}/{each}") for each in files]
    return all(gone) and remove_file(storage, name)


def remove_if_empty(storage: Storage, name: str) -> None:
    path = local_path(storage, name)
    if path is None:
        if contents(storage, name) == ([], []):
            remove_file(storage, name)
    elif not path.is_symlink():
        with suppress(OSError):  # something is in it that is not ours, or it is gone
            path.rmdir()


@contextmanager
def as_local_folder(storage: Storage, name: str) -> Iterator[Path]:
    """The folder on this machine: itself, or else a copy for as long as it is needed."""
    path = local_path(storage, name)
    if path is not None:
        yield path
        return
    with TemporaryDirectory(prefix="jobyard-video-") as temporary:
        copy = Path(temporary) / PurePosixPath(name).name
        fetch_tree(storage, name, copy)
        yield copy


def fetch_tree(storage: Storage, name: str, target: Path) -> None:
    Files(storage).fetch_folder(name, target)
    for each in folders_in(storage, name):
        fetch_tree(storage, f"{name}/{each}", target / each)
