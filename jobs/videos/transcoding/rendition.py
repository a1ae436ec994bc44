"""One quality: its chunks encoded one after the other, each kept for good, then joined to segments."""

import logging
from dataclasses import dataclass
from time import monotonic
from typing import Protocol

from jobs.conf import conf
from jobs.exceptions import CommandFailed
from jobs.videos.transcoding import commands
from jobs.videos.transcoding.chunks import Chunk, ChunkStore, fingerprint, frames_in, plan_chunks
from jobs.videos.transcoding.disk import RESERVE, require_room
from jobs.videos.transcoding.encoders import Encoder
from jobs.videos.transcoding.errors import NO_ROOM, DiskFull, EncoderFailed, InvalidOutput, Refused, damage_in
from jobs.videos.transcoding.ladder import Rung
from jobs.videos.transcoding.manifest import Rendition
from jobs.videos.transcoding.progress import Gauge
from jobs.videos.transcoding.task import Task

LEAST_SECONDS = 120.0
SLOWEST = 40.0  # seconds of work for a second of 1080p, on a machine that is very busy
FULL_HD = 1920 * 1080


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
        self.plan = plan_chunks(task.frames, task.segment_frames, max(1, conf.VIDEO_CHUNK_SEGMENTS))
        mark = fingerprint(
            task.name, task.source.as_json(), rung.as_json(), encoder.arguments(rung, 1), task.ffmpeg_version
        )
        self.store = ChunkStore(task.chunks / rung.name, mark)
        self.done = 0

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
        task = self.task
        gauge = Gauge(lambda gauge: self.tell(Advance(self.done + gauge.frame, gauge.fps, gauge.speed)))
        argv = commands.encode_chunk(
            task.ffmpeg, task.path, task.source, self.rung, self.encoder, chunk, self.store.part_of(chunk)
        )

        def look() -> None:
            gauge.check()
            require_room(task.folder, RESERVE)

        try:
            task.run(argv, timeout=self.time_for(chunk), on_line=gauge.feed, on_look=look)
        except CommandFailed as error:
            raise self.meaning_of(error) from error

    def time_for(self, chunk: Chunk) -> float:
        """As long as the chunk and its rung may take at the very worst."""
        seconds = float(chunk.frames / self.task.source.video.frame_rate)
        return LEAST_SECONDS + SLOWEST * seconds * max(0.25, self.rung.pixels / FULL_HD)

    def meaning_of(self, error: CommandFailed) -> Exception:
        said = str(error)
        if any(words in said for words in NO_ROOM):
            return DiskFull(folder=self.task.folder, free="nothing", needed="more")
        if self.encoder.is_hardware:
            return EncoderFailed(encoder=self.encoder.name, why=said)
        damage = damage_in(said)
        return Refused(why=f"it is damaged. ffmpeg says: {damage}") if damage else error

    def check_chunk(self, chunk: Chunk, frames: int) -> None:
        """ffmpeg may exit with 0 on a full disk, and at the early end of a truncated source."""
        require_room(self.task.folder, RESERVE)
        if frames == 0 and self.encoder.is_hardware:
            raise EncoderFailed(encoder=self.encoder.name, why="it wrote nothing")
        if not chunk.is_last and frames != chunk.frames:
            raise self.too_short(chunk.first_frame + frames)
        if frames == 0:
            raise InvalidOutput(problems=f"no frame in chunk {chunk.number + 1} of {self.rung.name}")

    def check_length(self) -> None:
        missing = (self.task.frames - self.done) / self.task.source.video.frame_rate
        if missing > min(1, self.task.source.duration / 10):
            raise self.too_short(self.done)

    def too_short(self, frames: int) -> Refused:
        seconds = float(frames / self.task.source.video.frame_rate)
        return Refused(
            why=f"it says that it lasts {self.task.source.duration:.1f} s, but its pictures end after {seconds:.1f} s: "
            "it is truncated."
        )

    def join(self) -> None:
        task, folder = self.task, self.task.version / self.rung.name
        folder.mkdir(parents=True)
        listing = self.store.listing(self.plan)
        task.run(commands.join_chunks(task.ffmpeg, listing, task.segment_seconds, folder), timeout=LEAST_SECONDS * 10)
