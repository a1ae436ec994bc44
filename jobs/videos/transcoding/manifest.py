"""What a version should be: written beside its files, read by whoever checks it."""

import json
from dataclasses import asdict, dataclass, field
from fractions import Fraction
from pathlib import Path

from jobs.handlers.files import write_whole

FILE = "manifest.json"
MASTER, PLAYLIST, INIT, THUMBNAIL = "master.m3u8", "playlist.m3u8", "init.mp4", "thumbnail.jpg"
AUDIO = "audio"  # the folder of the one audio rendition


@dataclass(frozen=True)
class Rendition:
    """One quality, in the folder of its name: init.mp4, playlist.m3u8 and its segments."""

    name: str
    width: int
    height: int
    encoder: str
    maxrate: int  # kb/s that its encoder was told not to exceed


@dataclass(frozen=True)
class Manifest:
    duration: float  # seconds of the source
    frame_rate: Fraction
    frames: int  # in each rendition
    segment_frames: int  # in each segment but the last
    audio_rate: int  # kb/s; 0 = no sound
    renditions: tuple[Rendition, ...]
    failed: dict[str, str] = field(default_factory=dict)  # qualities that are not there, and why

    @property
    def folders(self) -> list[str]:
        """One for each rendition, and that of the sound."""
        return [*(rendition.name for rendition in self.renditions), *([AUDIO] if self.audio_rate else [])]

    @property
    def segment_seconds(self) -> float:
        return float(self.segment_frames / self.frame_rate)

    def write(self, folder: Path) -> None:
        data = asdict(self) | {"frame_rate": str(self.frame_rate)}
        write_whole(folder / FILE, json.dumps(data, indent=1) + "\n")

    @classmethod
    def read(cls, folder: Path) -> "Manifest":
        data = json.loads((folder / FILE).read_text())
        renditions = tuple(Rendition(**each) for each in data["renditions"])
        return cls(**{**data, "frame_rate": Fraction(data["frame_rate"]), "renditions": renditions})
