"""Chunks: the pieces of a quality that are encoded one by one, so that a crash costs one of them and no more."""

import hashlib
import json
from dataclasses import asdict, dataclass
from pathlib import Path

from jobs.handlers.files import flush, write_whole


@dataclass(frozen=True)
class Chunk:
    number: int
    first_frame: int
    frames: int  # of the last one: as many as the probe let expect
    is_last: bool

    def may_have(self, frames: int) -> bool:
        """The last one ends where the source ends, which nobody knows beforehand."""
        return frames > 0 if self.is_last else frames == self.frames


def plan_chunks(frames: int, segment_frames: int, segments: int) -> list[Chunk]:
    """Whole segments each; a rest that is shorter than a segment goes with the last one."""
    size = segment_frames * segments
    number = max(1, -(-(frames - segment_frames + 1) // size))
    starts = [index * size for index in range(number)]
    ends = [*starts[1:], frames]
    return [
        Chunk(index, start, end - start, index == number - 1)
        for index, (start, end) in enumerate(zip(starts, ends, strict=True))
    ]


@dataclass(frozen=True)
class ChunkNote:
    """What is remembered of a finished chunk. It is void for any other source, setting, encoder or ffmpeg."""

    fingerprint: str
    sha256: str
    frames: int


class ChunkStore:
    """The finished chunks of one quality in a folder. None is trusted before its hash was compared."""

    def __init__(self, folder: Path, mark: str, attempt: str) -> None:
        self.folder, self.mark, self.attempt = folder, mark, attempt
        folder.mkdir(parents=True, exist_ok=True)

    def path_of(self, chunk: Chunk) -> Path:
        return self.folder / f"{chunk.number:05}.mp4"

    def part_of(self, chunk: Chunk) -> Path:
        return self.folder / f"{chunk.number:05}.{self.attempt}.part"

    def find(self, chunk: Chunk) -> int | None:
        """How many frames a finished chunk has; None if there is none that can be trusted."""
        try:
            kept = ChunkNote(**json.loads(self._note_of(chunk).read_text()))
            whole = kept.fingerprint == self.fingerprint_of(chunk) and kept.sha256 == sha256_of(self.path_of(chunk))
        except (OSError, ValueError, TypeError):
            return None
        return kept.frames if whole else None

    def keep(self, chunk: Chunk, frames: int) -> None:
        """On disk for good before it is noted: a note never speaks of what a power cut took."""
        part = self.part_of(chunk)
        flush(part)
        kept = ChunkNote(self.fingerprint_of(chunk), sha256_of(part), frames)
        part.replace(self.path_of(chunk))
        write_whole(self._note_of(chunk), json.dumps(asdict(kept)))

    def fingerprint_of(self, chunk: Chunk) -> str:
        """Of what it is made of, and of its place: chunks may have another size today."""
        return fingerprint(self.mark, chunk.first_frame, chunk.frames, chunk.is_last)

    def listing(self, chunks: list[Chunk]) -> Path:
        """What ffmpeg joins, in order."""
        path = self.folder / f"{self.attempt}.txt"
        path.write_text("ffconcat version 1.0\n" + "".join(f"file {self.path_of(chunk).name}\n" for chunk in chunks))
        return path

    def _note_of(self, chunk: Chunk) -> Path:
        return self.folder / f"{chunk.number:05}.json"


def fingerprint(*parts: object) -> str:
    return hashlib.sha256(json.dumps(parts, sort_keys=True, default=str).encode()).hexdigest()


def sha256_of(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
