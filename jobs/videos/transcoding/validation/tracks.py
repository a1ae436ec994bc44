"""A track: one folder of a version, read as far as the checks of its times need it."""

from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from jobs.videos.transcoding.errors import InvalidOutput
from jobs.videos.transcoding.fragments import Init, read_init, samples_of
from jobs.videos.transcoding.manifest import PLAYLIST
from jobs.videos.transcoding.media_playlist import MediaPlaylist, read_media
from jobs.videos.transcoding.mp4 import NotMp4
from jobs.videos.transcoding.nal import has_idr
from jobs.videos.transcoding.validation.files import files_problems
from jobs.videos.transcoding.validation.playlists import Unparsable, media_problems, parse, target_problems

PICTURE, SOUND = "vide", "soun"


@dataclass(frozen=True)
class TimedSegment:
    """When the samples of a segment are shown, in seconds."""

    label: str
    stated: float  # its EXTINF
    count: int
    first: float
    last: float  # when its last sample begins
    widest: float  # the longest time from one sample to the next; 0 if there is but one
    narrowest: float
    begins_with_key: bool


@dataclass(frozen=True)
class Track:
    name: str
    media: MediaPlaylist
    init: Init
    segments: tuple[TimedSegment, ...]

    @property
    def count(self) -> int:
        return sum(segment.count for segment in self.segments)

    def named(self) -> list[str]:
        """All files that belong to it."""
        names = [PLAYLIST, self.media.init, *(segment.name for segment in self.media.segments)]
        return [f"{self.name}/{each}" for each in names]


def read_track(version: Path, name: str) -> tuple[Track | None, list[str]]:
    """The track, and the faults of its files; no track where its times cannot be known."""
    label = f"{name}/{PLAYLIST}"
    try:
        playlist = parse(version / name / PLAYLIST, label)
    except Unparsable as error:
        return None, [str(error)]
    unusable = [*files_problems(version, name, playlist), *target_problems(playlist, label)]
    problems = [*media_problems(playlist, label), *unusable]
    if unusable or not playlist.segments or not playlist.segment_map:
        return None, problems
    try:
        return _timed(version / name, read_media(version / name)), problems
    except InvalidOutput as error:
        return None, [*problems, str(error.about["problems"])]


def _timed(folder: Path, media: MediaPlaylist) -> Track:
    label = f"{folder.name}/{media.init}"
    timed = []
    try:
        init = read_init((folder / media.init).read_bytes())
        for segment in media.segments:
            label = f"{folder.name}/{segment.name}"
            timed.append(_timed_segment((folder / segment.name).read_bytes(), init, label, segment.seconds))
    except (OSError, NotMp4) as error:
        raise InvalidOutput(problems=f"{label} cannot be used. {error}") from error
    return Track(folder.name, media, init, tuple(timed))


def _timed_segment(data: bytes, init: Init, label: str, stated: float) -> TimedSegment:
    samples = samples_of(data, init)
    keys = [sample.is_key for sample in samples]
    if init.handler == PICTURE:
        keys = [has_idr(data, sample.start, sample.end) and sample.is_key for sample in samples]
    shown = sorted(sample.shown for sample in samples)
    steps = [(after - before) / init.timescale for before, after in pairwise(shown)]
    return TimedSegment(
        label=label,
        stated=stated,
        count=len(shown),
        first=float((shown[0] + init.shift) / init.timescale),
        last=float((shown[-1] + init.shift) / init.timescale),
        widest=max(steps, default=0.0),
        narrowest=min(steps, default=0.0),
        begins_with_key=keys[0],
    )
