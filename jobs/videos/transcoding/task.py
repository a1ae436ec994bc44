"""What encoding a video needs at hand: its source, the folders, and how to run programs."""

from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from jobs.conf import conf
from jobs.handlers.commands import Run
from jobs.handlers.ffmpeg import ffmpeg_version, find_ffmpeg
from jobs.videos.transcoding.encoders import gop_of
from jobs.videos.transcoding.errors import NoFfmpeg
from jobs.videos.transcoding.source import Source

SEGMENT_GROUPS = 3  # groups of two seconds in a segment
LEAST_FILE, HIGHEST_RATE = 512 * 2**20, 8 * 2**20  # bytes, and bytes a second: several times what any rung has


@dataclass(frozen=True)
class Pinned:
    """What all chunks of a version are made with, on whichever machine: those of two encoders do not fit together."""

    encoder: str
    ffmpeg: str  # its version
    segments: int  # in a chunk

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True)
class Task:
    """`folder` is the job's own on this machine: chunks in it outlive an attempt, the rest has the attempt's name.

    Two attempts may be in it at once: one that was frozen until its claim was lost wakes up beside the next.
    """

    source: Source
    path: Path
    name: str  # of the source in the storage: with its size it says whether a chunk is of this source
    folder: Path
    attempt: str  # a name that no other attempt has
    run: Run
    pinned: Pinned | None = None  # where several workers encode it

    @cached_property
    def ffmpeg(self) -> str:
        found = find_ffmpeg()
        if found is None:
            raise NoFfmpeg
        return found

    @cached_property
    def ffmpeg_version(self) -> str:
        return ffmpeg_version(self.ffmpeg)

    @property
    def made_with(self) -> str:
        """The version of the ffmpeg that makes its chunks, which may be another machine's."""
        return self.pinned.ffmpeg if self.pinned else self.ffmpeg_version

    @property
    def chunk_segments(self) -> int:
        return self.pinned.segments if self.pinned else max(1, conf.VIDEO_CHUNK_SEGMENTS)

    @property
    def version(self) -> Path:
        """What will be published."""
        return self.folder / f"version-{self.attempt}"

    @property
    def chunks(self) -> Path:
        return self.folder / "chunks"

    @property
    def segment_frames(self) -> int:
        return SEGMENT_GROUPS * gop_of(self.source.video.frame_rate)

    @property
    def segment_seconds(self) -> float:
        return float(self.segment_frames / self.source.video.frame_rate)

    @property
    def frames(self) -> int:
        """As many as the probe lets expect."""
        return max(1, round(self.source.duration * self.source.video.frame_rate))

    @property
    def segments(self) -> int:
        return -(-self.frames // self.segment_frames)

    @property
    def largest_file(self) -> int:
        """Bytes. Nothing that is made of this source is larger, should it be in one piece."""
        return LEAST_FILE + int(HIGHEST_RATE * self.source.duration)
