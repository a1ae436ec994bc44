"""What a media playlist says of the files beside it, and the bit rates that follow from both."""

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import m3u8

from jobs.handlers.files import write_whole
from jobs.videos.transcoding.errors import InvalidOutput
from jobs.videos.transcoding.manifest import PLAYLIST


@dataclass(frozen=True)
class Segment:
    name: str
    seconds: float  # its EXTINF
    size: int  # bytes


@dataclass(frozen=True)
class MediaPlaylist:
    init: str
    target: int  # seconds; EXT-X-TARGETDURATION
    segments: tuple[Segment, ...]

    @property
    def seconds(self) -> float:
        return sum(segment.seconds for segment in self.segments)

    @property
    def average(self) -> int:
        """Bits per second over the whole length. Init segments do not count (RFC 8216)."""
        return math.ceil(8 * sum(segment.size for segment in self.segments) / self.seconds)

    @property
    def peak(self) -> int:
        """Bits per second of the densest run of segments that lasts 0.5 to 1.5 target durations (RFC 8216, 4.1)."""
        return max((math.ceil(8 * size / seconds) for size, seconds in self._runs()), default=self.average)

    def _runs(self) -> Iterator[tuple[int, float]]:
        for first in range(len(self.segments)):
            size, seconds = 0, 0.0
            for index in range(first, len(self.segments)):
                size, seconds = size + self.segments[index].size, seconds + self.segments[index].seconds
                if seconds > 1.5 * self.target:
                    break
                if seconds > 0 and seconds >= 0.5 * self.target:
                    yield size, seconds


def settle_target(folder: Path) -> None:
    """Raise the target duration of a playlist to what its longest segment needs, at least a second.

    ffmpeg rounds 3.5 s down to 3, and 0.4 s to 0; Chromium rounds the segments up and then refuses the playlist.
    """
    path, media = folder / PLAYLIST, read_media(folder)
    needed = max(1, math.floor(max(segment.seconds for segment in media.segments) + 0.5))
    if media.target < needed:
        write_whole(path, re.sub(r"(#EXT-X-TARGETDURATION:)\d+", rf"\g<1>{needed}", path.read_text()))


def read_media(folder: Path) -> MediaPlaylist:
    """The playlist in the folder of a rendition, with the sizes of its segments."""
    label = f"{folder.name}/{PLAYLIST}"
    try:
        playlist = m3u8.loads((folder / PLAYLIST).read_text())
        segments = tuple(
            Segment(each.uri, float(each.duration), (folder / each.uri).stat().st_size) for each in playlist.segments
        )
        media = MediaPlaylist(playlist.segment_map[0].uri, int(playlist.target_duration), segments)
    except Exception as error:  # the parser has no class of its own for most of its errors
        raise InvalidOutput(problems=f"{label} cannot be used ({type(error).__name__}: {error}).") from error
    if not 0 < media.seconds < math.inf:
        raise InvalidOutput(problems=f"{label} names no segment that lasts any time.")
    return media
