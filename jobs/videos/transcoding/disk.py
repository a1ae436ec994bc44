"""Room on the disk: looked at before the work, and while it goes on."""

import shutil
from pathlib import Path

from jobs.videos.transcoding.errors import DiskFull
from jobs.videos.transcoding.ladder import Ladder

SPARE = 1.5  # times the estimate
RESERVE = 64 * 2**20  # bytes: below this nothing on the machine goes well any more
COPIES = 2  # the chunks, and what they are joined to


def estimate(ladder: Ladder, duration: float) -> int:
    """Bytes, at most about: nothing is encoded above its rate."""
    rate = sum(rung.maxrate for rung in ladder.rungs) + ladder.audio_rate
    return int(COPIES * rate * 1000 / 8 * duration)


def require_room(folder: Path, needed: float) -> None:
    free = shutil.disk_usage(folder).free
    if free < needed:
        raise DiskFull(folder=folder, free=in_words(free), needed=in_words(needed))


def size_of(folder: Path) -> int:
    """Bytes of all files below it; 0 if it is not there."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def in_words(size: float) -> str:
    for unit in ("bytes", "KiB", "MiB", "GiB"):
        if size < 1024:
            return f"{size:.0f} {unit}"
        size /= 1024
    return f"{size:.1f} TiB"
