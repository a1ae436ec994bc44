"""Is every file there that is named, whole, inside the version, and is nothing else there?"""

from collections.abc import Iterable, Iterator
from pathlib import Path

import av
import m3u8

from jobs.videos.transcoding.manifest import INIT, PLAYLIST, THUMBNAIL, Manifest
from jobs.videos.transcoding.mp4 import NotMp4, kinds_in
from jobs.videos.transcoding.validation.playlists import cut, name_fault

JPEG = b"\xff\xd8\xff"


def files_problems(version: Path, name: str, playlist: m3u8.M3U8) -> Iterator[str]:
    """Faults of the files that the playlist of a folder names."""
    for section in playlist.segment_map:
        yield from file_problems(version, name, section.uri, {"moov"})
        if name_fault(section.uri) == "" and section.uri != INIT:
            yield f"{name}/{PLAYLIST} names {cut(section.uri)} as init segment instead of {INIT}."
    for segment in playlist.segments:
        yield from file_problems(version, name, segment.uri, {"moof", "mdat"})


def file_problems(version: Path, name: str, uri: str | None, needed: set[str]) -> Iterator[str]:
    if fault := name_fault(uri):
        yield f"{name}/{PLAYLIST} names {cut(uri)!r}, which {fault}."
        return
    path, label = version / name / (uri or ""), f"{name}/{cut(uri)}"
    if not path.resolve().is_relative_to(version.resolve()):
        yield f"{name}/{PLAYLIST} names {cut(uri)!r}, which leads out of the folder."
    elif not path.is_file():
        yield f"{label} is missing."
    elif path.stat().st_size == 0:
        yield f"{label} is empty."
    else:
        yield from box_problems(path, label, needed)


def box_problems(path: Path, label: str, needed: set[str]) -> Iterator[str]:
    try:
        missing = needed - set(kinds_in(path))
    except NotMp4 as error:
        yield f"{label} cannot be used. {error}"
    else:
        if missing:
            yield f"{label} has no {' and no '.join(sorted(missing))} box."


def foreign_problems(version: Path, manifest: Manifest) -> Iterator[str]:
    folders = set(manifest.folders)
    for path in sorted(version.iterdir()):
        if path.is_dir() and path.name not in folders:
            yield f"{cut(path.name)}/ is no rendition of the manifest."


def stray_problems(version: Path, folder: str, named: Iterable[str]) -> Iterator[str]:
    """What no playlist names would be published, and fill the disk, all the same."""
    known = set(named)
    for path in sorted((version / folder).rglob("*")):
        label = path.relative_to(version).as_posix()
        if label not in known:
            yield f"{cut(label)} is named by no playlist."


def thumbnail_problems(version: Path) -> Iterator[str]:
    path = version / THUMBNAIL
    if not path.is_file():
        yield f"{THUMBNAIL} is missing."
        return
    with path.open("rb") as file:
        is_jpeg = file.read(len(JPEG)) == JPEG
    if not is_jpeg:
        yield f"{THUMBNAIL} is not a JPEG."
        return
    try:
        with path.open("rb") as file, av.open(file, "r", "jpeg_pipe") as container:
            next(container.decode(video=0))
    except (av.FFmpegError, StopIteration) as error:
        yield f"{THUMBNAIL} cannot be decoded: {error or 'it holds no picture'}."
