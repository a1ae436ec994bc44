"""The little that must be read from MP4 boxes, and refused clearly where they are garbage."""

import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from jobs.exceptions import JobyardError

TO_SAMPLE_ENTRIES = ("moov", "trak", "mdia", "minf", "stbl", "stsd")
STSD_HEAD, AVC1_HEAD = 8, 78  # bytes of fixed fields before the boxes inside


class NotMp4(JobyardError):
    """It is not a whole MP4 file: {why}."""


@dataclass(frozen=True)
class Box:
    kind: str
    start: int  # of its content
    end: int

    @property
    def length(self) -> int:
        return self.end - self.start


def kinds_in(path: Path) -> list[str]:
    """The kinds of a file's boxes, in order; raises NotMp4 if one is cut short. Reads only where boxes begin."""
    with path.open("rb") as file:

        def read_at(position: int, length: int) -> bytes:
            file.seek(position)
            return file.read(length)

        return [box.kind for box in _walk(read_at, 0, path.stat().st_size)]


def boxes(data: bytes, start: int = 0, end: int | None = None) -> Iterator[Box]:
    """The boxes between two positions."""
    return _walk(lambda position, length: data[position : position + length], start, len(data) if end is None else end)


def inside(data: bytes, way: tuple[str, ...], within: Box | None = None) -> Iterator[Box]:
    """The boxes at the end of a way through boxes in boxes."""
    for box in boxes(data, within.start, within.end) if within else boxes(data):
        if box.kind == way[0]:
            if way[1:]:
                yield from inside(data, way[1:], box)
            else:
                yield box


def only(data: bytes, way: tuple[str, ...], within: Box | None = None) -> Box:
    """The one box at the end of a way."""
    found = list(inside(data, way, within))
    if len(found) != 1:
        raise NotMp4(why=f"it has {len(found) or 'no'} {'/'.join(way)} where one is wanted")
    return found[0]


def avc_codec(init: bytes) -> str:
    """The codec as playlists state it (RFC 6381), from the avcC box of an init segment: `avc1.64001f`."""
    for table in inside(init, TO_SAMPLE_ENTRIES):
        for entry in boxes(init, table.start + STSD_HEAD, table.end):
            for box in boxes(init, entry.start + AVC1_HEAD, entry.end) if entry.kind == "avc1" else ():
                if box.kind == "avcC":
                    return _stated(init[box.start : box.end])
    raise NotMp4(why="it has no avcC box, as H.264 would have")


def _stated(avcc: bytes) -> str:
    if len(avcc) < 4 or avcc[0] != 1:
        raise NotMp4(why="its avcC box is garbled")
    return "avc1." + avcc[1:4].hex()


def _walk(read_at: Callable[[int, int], bytes], start: int, end: int) -> Iterator[Box]:
    while start < end:
        box = _box(read_at(start, 16), start, end)
        yield box
        start = box.end  # a box has at least 8 bytes, so this comes to an end


def _box(head: bytes, start: int, end: int) -> Box:
    if min(end - start, len(head)) < 8:
        raise NotMp4(why=f"it has {end - start} stray bytes at {start}")
    size, kind = struct.unpack(">I4s", head[:8])
    head_length = 8
    if size == 1:  # too large for 32 bits
        size, head_length = int.from_bytes(head[8:16]), 16
    elif size == 0:  # up to the end
        size = end - start
    name = kind.decode("ascii", "backslashreplace")
    if not head_length <= size <= end - start:
        raise NotMp4(why=f"its box {name!r} at {start} states {size} bytes, where {end - start} are left")
    return Box(name, start + head_length, start + size)
