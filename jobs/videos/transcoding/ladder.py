"""Which qualities a source gets: by its short side, never larger than it is, and no more bits than it has to show."""

from collections.abc import Collection
from dataclasses import asdict, dataclass
from math import ceil
from typing import Any

from jobs.videos.transcoding.errors import Refused
from jobs.videos.transcoding.levels import level_for
from jobs.videos.transcoding.source import Source

# The short side, the most kb/s of the picture at up to 30 frames a second, kb/s of sound, the quality (lower = better).
RUNGS = (
    (2160, 16_000, 192, 21),
    (1440, 9_000, 192, 21),
    (1080, 5_000, 128, 22),
    (720, 2_800, 128, 22),
    (480, 1_400, 96, 23),
    (360, 800, 96, 23),
)
NAMES = tuple(f"{short}p" for short, *_ in RUNGS)
FAST = 1.5  # times the bits for more than 30 frames a second
BEYOND_SOURCE = 1.3  # times the source's own bits: more only stores its noise
LEAST_RATE = 100  # kb/s


@dataclass(frozen=True)
class Rung:
    """One quality to make."""

    name: str
    width: int
    height: int
    maxrate: int  # kb/s
    crf: int
    level: int  # of H.264, ten times

    @property
    def pixels(self) -> int:
        return self.width * self.height

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True)
class Ladder:
    rungs: tuple[Rung, ...]  # largest first
    skipped: dict[str, str]  # what is not made, and why
    audio_rate: int  # kb/s; 0 = no sound


def ladder_for(source: Source, wanted: Collection[str] | None = None) -> Ladder:
    """All qualities that the source has the size for, or those of the wanted ones."""
    short = min(source.video.width, source.video.height)
    possible = RUNGS if short >= RUNGS[-1][0] else (*RUNGS, (even(short), *RUNGS[-1][1:]))
    chosen = [rung for rung in possible if wanted is None or f"{rung[0]}p" in wanted]
    fitting = [rung for rung in chosen if rung[0] <= even(short)]
    skipped = {f"{rung[0]}p": f"The source has only {short} lines." for rung in chosen if rung not in fitting}
    if not fitting:
        raise Refused(why=f"It has only {short} lines, too few for {', '.join(sorted(wanted or NAMES))}.")
    rungs = tuple(make_rung(source, *rung) for rung in fitting)
    return Ladder(rungs, skipped, fitting[0][2] if source.audio else 0)


def make_rung(source: Source, short: int, maxrate: int, _audio: int, crf: int) -> Rung:
    width, height = scaled(source.video.width, source.video.height, short)
    frame_rate = source.video.frame_rate
    maxrate = round(maxrate * (FAST if frame_rate > 30 else 1))
    if source.video.bitrate:
        maxrate = max(LEAST_RATE, min(maxrate, round(BEYOND_SOURCE * source.video.bitrate / 1000)))
    return Rung(f"{short}p", width, height, maxrate, crf, level_for(width, height, frame_rate, maxrate))


def scaled(width: int, height: int, short: int) -> tuple[int, int]:
    """The size with that short side, both sides even."""
    long = even(max(width, height) * short / min(width, height))
    return (long, short) if width >= height else (short, long)


def even(number: float) -> int:
    """The nearest even number, at least two: H.264 stores colours for squares of four points."""
    return max(2, 2 * ceil(number / 2 - 0.5))
