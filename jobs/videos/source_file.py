"""A source as it comes: a path or an upload; opened, measured, and stored under its name."""

import hashlib
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from django.core.files import File
from django.core.files.storage import Storage

from jobs.exceptions import InvalidInput
from jobs.sanitise import clean_text, printable
from jobs.videos.exceptions import NotStored
from jobs.videos.transcoding.probing.containers import HEAD, why_hopeless

Given = str | os.PathLike[str] | File
BLOCK = 1024 * 1024
LONGEST_NAME = 255


@dataclass(frozen=True)
class Measured:
    """What tells one source from another."""

    sha256: str
    size: int


@contextmanager
def opened(given: Given) -> Iterator[File]:
    """The source, ready to be read; a file that was given open stays open."""
    if isinstance(given, File):
        yield given
    elif isinstance(given, (str, os.PathLike)):
        path = check_path(Path(given))
        try:
            file = path.open("rb")
        except OSError as error:
            raise InvalidInput(f"{named(path)} cannot be read: {error.strerror or error}.") from error
        with file:
            yield File(file, name=path.name)
    else:
        raise InvalidInput(f"A source is a path or a Django file, not {type(given).__name__}.")


def check_path(path: Path) -> Path:
    """Before it is opened: opening a pipe would wait for somebody to write into it."""
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        raise InvalidInput(f"{named(path)} does not exist.") from None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise InvalidInput(f"{named(path)} cannot be read: {reason}.") from error
    if stat.S_ISDIR(mode):
        raise InvalidInput(f"{named(path)} is a directory; name the files in it.")
    if not stat.S_ISREG(mode):
        raise InvalidInput(f"{named(path)} is not a file.")
    return path


def measure(source: File) -> Measured:
    """Read it once, whole. What no job could make a video of is refused here, where the first bytes say so."""
    digest, size, head = hashlib.sha256(), 0, b""
    try:
        for block in source.chunks(BLOCK):
            head = head or block[:HEAD]
            digest.update(block)
            size += len(block)
    except (OSError, ValueError) as error:
        raise InvalidInput(f"{named(source.name)} cannot be read: {error}.") from error
    if not size:
        raise InvalidInput(f"{named(source.name)} is empty.")
    if why := why_hopeless(head):
        raise InvalidInput(f"{named(source.name)} cannot be added. {why}")
    return Measured(digest.hexdigest(), size)


def store(storage: Storage, source: File, name: str, measured: Measured) -> str:
    """Put it into the storage; returns the name it has there. What a failure leaves is for the caller to remove."""
    try:
        stored = storage.save(name, source)
        size = storage.size(stored)
    except OSError as error:
        raise NotStored(file=named(source.name), why=error.strerror or error) from error
    if size != measured.size:
        raise InvalidInput(f"{named(source.name)} changed while it was read; add it when it is complete.")
    return stored


def own_name(source: File) -> str:
    """What the file is called where it comes from, as a database can store it."""
    return clean_text(os.path.basename(str(source.name or "")), LONGEST_NAME)


def named(path: object) -> str:
    return printable(path or "The file", 300)
