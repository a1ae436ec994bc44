"""What others tell of a video, believed within bounds alone: payloads and checkpoints may come from any machine, and
ffmpeg's arguments and names of files are made of them.
"""

import re
from collections.abc import Collection
from fractions import Fraction
from typing import Any, TypeVar

from jobs.videos.transcoding.chunks import Chunk
from jobs.videos.transcoding.encoders import ENCODERS
from jobs.videos.transcoding.errors import NotBelieved
from jobs.videos.transcoding.ladder import RUNGS, Rung
from jobs.videos.transcoding.levels import LEVELS
from jobs.videos.transcoding.probing.containers import DEMUXERS
from jobs.videos.transcoding.probing.facts import MAX_DURATION
from jobs.videos.transcoding.probing.frame_rates import FASTEST, SLOWEST
from jobs.videos.transcoding.probing.picture import MAX_SIDE, MIN_SIDE
from jobs.videos.transcoding.source import AudioStream, Source, VideoStream
from jobs.videos.transcoding.task import Pinned
from jobs.wire.shapes import (
    FLAG,
    WHOLE,
    Codec,
    Record,
    WrongShape,
    as_it_is,
    is_number,
    is_text,
    is_whole,
    optional,
    read,
)

T = TypeVar("T")
LONGEST = 1000  # characters: of a codec, or of what ffmpeg says of itself
MOST = 10**9  # of what has no limit of its own
MOST_FRAMES = int(MAX_DURATION * FASTEST)
MOST_CHUNKS = 10**5  # their names have five digits
RATE = re.compile(r"[1-9][0-9]{0,8}(/[1-9][0-9]{0,8})?", re.ASCII)  # an exponent would take all memory


def believed(codec: Codec[T], told: Any) -> T:
    try:
        return codec.decode(told)
    except WrongShape as error:
        raise NotBelieved(why=error) from error


def whole(least: int, most: int) -> Codec[int]:
    wanted = f"a whole number from {least} to {most}"
    return Codec(as_it_is, read(wanted, lambda value: is_whole(value) and least <= value <= most, int))


def among(names: Collection[Any]) -> Codec[Any]:
    """One of these and of their type: 30.0 is not 30, which would be written otherwise."""
    known = {(type(name), name) for name in names}
    wanted = f"one of {', '.join(map(str, names))}"
    return Codec(as_it_is, read(wanted, lambda value: is_plain(value) and (type(value), value) in known, as_it_is))


def is_plain(value: Any) -> bool:
    return is_text(value) or is_whole(value)


def is_quality(value: Any) -> bool:
    """The ladder's, or that of a source which is smaller than its lowest."""
    return is_text(value) and value in QUALITIES


def is_rate(value: Any) -> bool:
    return is_text(value) and RATE.fullmatch(value) is not None and SLOWEST <= Fraction(value) <= FASTEST


def is_duration(value: Any) -> bool:
    return is_number(value) and 0 <= value <= MAX_DURATION


def is_words(value: Any) -> bool:
    return is_text(value) and len(value) <= LONGEST


QUALITIES = frozenset(f"{short}p" for short in (*range(2, RUNGS[-1][0], 2), *(rung[0] for rung in RUNGS)))
WORDS = Codec(as_it_is, read(f"text of at most {LONGEST} characters", is_words, str))
QUALITY = Codec(as_it_is, read("the name of a quality", is_quality, str))
FRAME_RATE = Codec(str, read(f"a frame rate from {SLOWEST} to {FASTEST}", is_rate, Fraction))
DURATION = Codec(as_it_is, read(f"a number of seconds up to {MAX_DURATION}", is_duration, float))
INDEX = whole(0, 1000)
SIDE = whole(2, MAX_SIDE)

VIDEO_STREAM = Record(
    VideoStream,
    index=INDEX,
    codec=WORDS,
    width=whole(MIN_SIDE, MAX_SIDE),
    height=whole(MIN_SIDE, MAX_SIDE),
    frame_rate=FRAME_RATE,
    is_variable=FLAG,
    rotation=whole(0, 359),
    is_anamorphic=FLAG,
    bit_depth=whole(0, 64),
    is_hdr=FLAG,
    is_interlaced=FLAG,
    bitrate=WHOLE,
)
AUDIO_STREAM = Record(AudioStream, index=INDEX, codec=WORDS, channels=whole(1, MOST), sample_rate=whole(1, MOST))
SOURCE = Record(
    Source,
    demuxer=among(sorted(DEMUXERS)),
    duration=DURATION,
    size=WHOLE,
    video=VIDEO_STREAM,
    audio=optional(AUDIO_STREAM),
)
RUNG = Record(
    Rung,
    name=QUALITY,
    width=SIDE,
    height=SIDE,
    maxrate=whole(1, 1_000_000),
    crf=whole(0, 51),
    level=among(tuple(LEVELS)),
)
CHUNK = Record(
    Chunk,
    number=whole(0, MOST_CHUNKS - 1),
    first_frame=whole(0, MOST_FRAMES),
    frames=whole(1, MOST_FRAMES),
    is_last=FLAG,
)
PINNED = Record(Pinned, encoder=among([encoder.name for encoder in ENCODERS]), ffmpeg=WORDS, segments=whole(1, MOST))
