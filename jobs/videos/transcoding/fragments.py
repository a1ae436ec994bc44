"""When each sample of a segment is shown, and where its bytes are: from the boxes themselves.

A demuxer would tell, too, but not the same: libav shifts all times by the most negative composition offset that it has
met so far, so that good segments seem to have gaps; and it reads every byte, where these few boxes say it all.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

from jobs.videos.transcoding.mp4 import Box, NotMp4, inside, only

NOT_SYNC = 0x10000  # the flag of a sample that is no keyframe
MOST_SAMPLES = 1_000_000  # in a segment: hours of it, so a larger number is garbage


@dataclass(frozen=True)
class Init:
    """What the init segment says for all segments."""

    handler: str  # "vide" or "soun"
    timescale: int  # ticks in a second
    shift: Fraction  # ticks that its edit list moves everything by
    duration: int  # of a sample, where a segment says nothing
    size: int
    flags: int


class Sample(NamedTuple):
    shown: int  # ticks on the track's clock; the shift of the edit list is not in it
    duration: int
    start: int  # of its bytes in the file
    end: int
    is_key: bool


class Fields:
    """The numbers in a box, taken one after the other."""

    def __init__(self, data: bytes, box: Box) -> None:
        self.data, self.position, self.end = data, box.start, box.end
        self.version = self.take(1)
        self.flags = self.take(3)

    def take(self, length: int = 4, signed: bool = False) -> int:
        start, self.position = self.position, self.position + length
        if self.position > self.end:
            raise NotMp4(why=f"its box at {start} ends too early")
        return int.from_bytes(self.data[start : self.position], signed=signed)

    def take_if(self, flag: int, otherwise: int, signed: bool = False) -> int:
        return self.take(4, signed) if self.flags & flag else otherwise


def read_init(data: bytes) -> Init:
    track = only(data, ("moov", "trak"))
    timescale = _timescale(data, only(data, ("mdia", "mdhd"), track))
    handler = Fields(data, only(data, ("mdia", "hdlr"), track))
    handler.take()
    trex = Fields(data, only(data, ("moov", "mvex", "trex")))
    _, _, duration, size, flags = (trex.take() for _ in range(5))
    edits = list(inside(data, ("edts", "elst"), track))
    movie_timescale = _timescale(data, only(data, ("moov", "mvhd")))
    shift = _shift(Fields(data, edits[0]), Fraction(timescale, movie_timescale)) if edits else Fraction()
    return Init(handler.take().to_bytes(4).decode("latin-1"), timescale, shift, duration, size, flags)


def samples_of(data: bytes, init: Init) -> list[Sample]:
    """The samples of a segment, in the order they are stored."""
    samples = [sample for moof in inside(data, ("moof",)) for sample in _in_fragment(data, moof, init)]
    if not samples:
        raise NotMp4(why="it has no samples")
    return samples


def _in_fragment(data: bytes, moof: Box, init: Init) -> Iterator[Sample]:
    track = only(data, ("traf",), moof)
    tfhd, tfdt = Fields(data, only(data, ("tfhd",), track)), Fields(data, only(data, ("tfdt",), track))
    tfhd.take()  # the track's id
    base = position = tfhd.take(8) if tfhd.flags & 0x1 else moof.start - 8
    tfhd.take_if(0x2, 0)
    defaults = tfhd.take_if(0x8, init.duration), tfhd.take_if(0x10, init.size), tfhd.take_if(0x20, init.flags)
    time = tfdt.take(8 if tfdt.version else 4)
    for box in inside(data, ("trun",), track):
        run = Fields(data, box)
        count = run.take()
        position = base + run.take(4, signed=True) if run.flags & 0x1 else position
        for duration, size, flags, offset in _rows(run, count, *defaults):
            if not 0 <= position <= position + size <= len(data):
                raise NotMp4(why=f"its sample at {position} states {size} bytes, where the file has {len(data)}")
            yield Sample(time + offset, duration, position, position + size, not flags & NOT_SYNC)
            time, position = time + duration, position + size


def _rows(run: Fields, count: int, duration: int, size: int, flags: int) -> Iterator[tuple[int, int, int, int]]:
    """Duration, size, flags and composition offset of each sample of a run."""
    if count > MOST_SAMPLES:
        raise NotMp4(why=f"it states {count} samples")
    first_flags = run.take_if(0x4, flags)
    for index in range(count):
        yield (
            run.take_if(0x100, duration),
            run.take_if(0x200, size),
            run.take_if(0x400, flags if index else first_flags),
            run.take_if(0x800, 0, signed=True),
        )


def _timescale(data: bytes, box: Box) -> int:
    fields = Fields(data, box)
    for _ in range(2):  # when it was made and changed
        fields.take(8 if fields.version else 4)
    ticks = fields.take()
    if ticks == 0:
        raise NotMp4(why="its clock has no ticks")
    return ticks


def _shift(edits: Fields, ticks: Fraction) -> Fraction:
    """An empty edit delays, and what an edit leaves out at its start comes earlier by as much."""
    shift, length = Fraction(), 8 if edits.version else 4
    for _ in range(min(edits.take(), 2)):
        seconds, media_time = edits.take(length), edits.take(length, signed=True)
        edits.take()  # its speed
        if media_time >= 0:
            return shift - media_time
        shift += seconds * ticks
    return shift
