"""What the probe found out about a source: plain values that pass through JSON."""

from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import Any


@dataclass(frozen=True)
class VideoStream:
    """The picture. Width and height are as it is shown: after rotation, with square pixels, not yet even."""

    index: int
    codec: str
    width: int
    height: int
    frame_rate: Fraction  # of the output: constant, at most 60
    is_variable: bool = False
    rotation: int = 0  # degrees clockwise; ffmpeg turns the picture by itself
    is_anamorphic: bool = False
    bit_depth: int = 8
    is_hdr: bool = False  # PQ or HLG
    is_interlaced: bool = False
    bitrate: int = 0  # bits per second; 0 = unknown


@dataclass(frozen=True)
class AudioStream:
    index: int
    codec: str
    channels: int
    sample_rate: int


@dataclass(frozen=True)
class Source:
    demuxer: str  # what ffmpeg is told with -f, so that nothing else opens the file
    duration: float  # seconds from the start of the file to the end of its last picture
    size: int  # bytes
    video: VideoStream
    audio: AudioStream | None = None

    def as_json(self) -> dict[str, Any]:
        data = asdict(self)
        data["video"]["frame_rate"] = str(self.video.frame_rate)
        return data
