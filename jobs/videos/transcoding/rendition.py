"""One quality: its chunks encoded one after the other, each kept for good, then joined to segments."""

import logging
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import Protocol

from jobs.exceptions import CommandFailed
from jobs.videos.transcoding import commands
from jobs.videos.transcoding.chunks import Chunk, ChunkStore, fingerprint, plan_chunks
from jobs.videos.transcoding.disk import RESERVE, require_room
from jobs.videos.transcoding.encoders import Encoder
from jobs.videos.transcoding.errors import EncoderFailed, InvalidOutput, Refused
from jobs.videos.transcoding.ffmpeg import run_ffmpeg
from jobs.videos.transcoding.ladder import Rung
from jobs.videos.transcoding.manifest import Rendition
from jobs.videos.transcoding.probing.frames import frames_in
from jobs.videos.transcoding.progress import Gauge, Stalled
from jobs.videos.transcoding.task import Task

LEAST_SECONDS = 120.0
SLOWEST = 40.0  # seconds of work for a second of 1080p, on a machine that is very busy
FULL_HD = 1920 * 1080
SLOWEST_DISK = 2 * 2**20  # bytes a second


@dataclass(frozen=True)
class Advance:
    """How far a quality is."""

    frames: int
    fps: float = 0.0
    speed: float = 0.0


class Listener(Protocol):
    """What is told of each quality; the handler passes it on."""

    def started(self, rung: Rung, segments: int) -> None: ...
    def advanced(self, rung: Rung, advance: Advance) -> None: ...
    def completed(self, rung: Rung, rendition: Rendition) -> None: ...
    def failed(self, rung: Rung, error: Exception) -> None: ...


Logger = logging.LoggerAdapter[logging.Logger]


class Encoding:
    """The encoding of one quality with one encoder."""

    def __init__(self, task: Task, rung: Rung, encoder: Encoder, logger: Logger, listener: Listener) -> None:
        self.task, self.rung, self.encoder, self.logger, self.listener = task, rung, encoder, logger, listener
        self.plan = plan_chunks(task.frames, task.segment_frames, task.chunk_segments)
        self.store = ChunkStore(task.chunks / rung.name / encoder.name, self.mark(), task.attempt)
        self.done = 0

    def mark(self) -> str:
        """Of all that chunks are made of; those with another mark are of no use. Where ffmpeg lies does not matter."""
        _, *argv = self.command(Chunk(0, 0, 0, is_last=False), Path("target"), source=Path("source"))
        return fingerprint(self.task.name, self.task.source.size, argv, self.task.made_with)

    @property
    def can_encode(self) -> bool:
        """Whether what is encoded here fits to the chunks that others made."""
        return self.task.made_with == self.task.ffmpeg_version

    def missing(self) -> list[Chunk]:
        return [chunk for chunk in self.plan if self.store.find(chunk) is None]

    def run(self) -> Rendition:
        found = [self.store.find(chunk) for chunk in self.plan]
        if None in found:  # else an earlier attempt did it all
            self.listener.started(self.rung, self.task.segments)
        for chunk, frames in zip(self.plan, found, strict=True):
            self.done += frames or self.encode(chunk)
            self.tell(Advance(self.done))
        self.check_length()
        self.join()
        rung = self.rung
        return Rendition(rung.name, rung.width, rung.height, self.encoder.name, rung.maxrate)

    def tell(self, advance: Advance) -> None:
        self.listener.advanced(self.rung, advance)

    def encode(self, chunk: Chunk) -> int:
        began, part = monotonic(), self.store.part_of(chunk)
        self.ffmpeg(chunk)
        frames = frames_in(part)
        self.check_chunk(chunk, frames)
        self.store.keep(chunk, frames)
        self.logger.info(
            "chunk encoded quality=%s chunk=%d of=%d frames=%d seconds=%.1f encoder=%s",
            self.rung.name, chunk.number + 1, len(self.plan), frames, monotonic() - began, self.encoder.name,
        )  # fmt: skip
        return frames

    def ffmpeg(self, chunk: Chunk) -> None:
        gauge = Gauge(lambda gauge: self.tell(Advance(self.done + gauge.frame, gauge.fps, gauge.speed)))
        argv = self.command(chunk, self.store.part_of(chunk), source=self.task.path)
        try:
            run_ffmpeg(self.task, argv, self.time_for(chunk), gauge)
        except (CommandFailed, Refused, Stalled) as error:
            if self.encoder.is_hardware:  # whoever is to blame, the CPU will tell
                raise EncoderFailed(encoder=self.encoder.name, why=str(error)) from error
            raise

    def command(self, chunk: Chunk, target: Path, source: Path) -> commands.Command:
        task = self.task
        return commands.encode_chunk(task.ffmpeg, source, task.source, self.rung, self.encoder, chunk, target)

    def time_for(self, chunk: Chunk) -> float:
        """As long as the chunk and its rung may take at the very worst."""
        seconds = float(chunk.frames / self.task.source.video.frame_rate)
        return LEAST_SECONDS + SLOWEST * seconds * max(0.25, self.rung.pixels / FULL_HD)

    def check_chunk(self, chunk: Chunk, frames: int) -> None:
        """ffmpeg may exit with 0 on a full disk, and at the early end of a truncated source."""
        require_room(self.task.folder, RESERVE)
        if self.encoder.is_hardware and not chunk.may_have(frames):
            raise EncoderFailed(encoder=self.encoder.name, why=f"it made {frames} of {chunk.frames} frames")
        if not chunk.is_last and frames != chunk.frames:
            raise self.too_short(chunk.first_frame + frames)
        if frames == 0:
            raise InvalidOutput(problems=f"no frame in chunk {chunk.number + 1} of {self.rung.name}")

    def check_length(self) -> None:
        missing = (self.task.frames - self.done) / self.task.source.video.frame_rate
        tolerated = min(1, self.task.source.duration / 10)
        if missing > tolerated:
            raise self.too_short(self.done)
        if -missing > tolerated:
            raise InvalidOutput(problems=f"{self.done} frames in {self.rung.name}, but {self.task.frames} expected")

    def too_short(self, frames: int) -> Refused:
        seconds = float(frames / self.task.source.video.frame_rate)
        return Refused(
            why=f"It says that it lasts {self.task.source.duration:.1f} s, but its pictures end after {seconds:.1f} s: "
            "it is truncated."
        )

    def join(self) -> None:
        task, folder = self.task, self.task.version / self.rung.name
        folder.mkdir(parents=True)
        listing = self.store.listing(self.plan)
        size = sum(self.store.path_of(chunk).stat().st_size for chunk in self.plan)
        argv = commands.join_chunks(task.ffmpeg, listing, task.segment_seconds)
        run_ffmpeg(task, argv, timeout=LEAST_SECONDS + size / SLOWEST_DISK, cwd=folder)
