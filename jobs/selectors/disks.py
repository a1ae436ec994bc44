"""How much room this machine has where files go."""

import shutil
import socket
from pathlib import Path

from django.core.files.storage import default_storage

from jobs.handlers.folders import work_root
from jobs.selectors.concerns import Disk


def disks_here() -> tuple[Disk, ...]:
    """Those that are told of by the machine's name: several machines may each run out of room."""
    host = socket.gethostname()
    found = [stored_files(f"stored files on {host}"), room_at(work_root(), f"the work directory on {host}")]
    return tuple(disk for disk in found if disk)


def stored_files(place: str = "stored files") -> Disk | None:
    """None for storages that are no directory."""
    try:
        folder = default_storage.path("")
    except NotImplementedError:
        return None
    return room_at(Path(folder), place)


def room_at(folder: Path, place: str) -> Disk | None:
    """None where nothing can be asked; a folder that is not there yet will be where the nearest one above it is."""
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    try:
        usage = shutil.disk_usage(folder)
    except OSError:
        return None
    return Disk(place, usage.free, usage.total)
