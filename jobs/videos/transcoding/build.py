"""Puts a version together, part by part; a part that is there is not made again. Chunks outlive an attempt, it not."""

import shutil
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Protocol

from jobs.conf import conf
from jobs.handlers.context import Context
from jobs.videos.transcoding import commands
from jobs.videos.transcoding.disk import RESERVE, SPARE, estimate, require_room, size_of
from jobs.videos.transcoding.encoders import Encoder
from jobs.videos.transcoding.encoding import Encoded, encode_all
from jobs.videos.transcoding.errors import InvalidOutput
from jobs.videos.transcoding.ffmpeg import run_ffmpeg
from jobs.videos.transcoding.ladder import Ladder, Rung, ladder_for
from jobs.videos.transcoding.manifest import MASTER, THUMBNAIL, Manifest, Rendition
from jobs.videos.transcoding.master_playlist import write_master
from jobs.videos.transcoding.reporting import ProgressReporter
from jobs.videos.transcoding.task import Task
from jobs.videos.transcoding.validate import require_valid

THUMBNAIL_SECONDS = 120.0


@dataclass(frozen=True)
class Carry:
    """The published version, and those of its qualities that go into the new one as they are."""

    folder: str  # of that version in the storage
    qualities: list[str] = field(default_factory=list)


class Others(Protocol):
    """Workers that encode chunks for us."""

    task: Task
    encoders: Sequence[Encoder]

    def gather(self, rungs: Sequence[Rung]) -> None: ...


class Build:
    def __init__(
        self,
        ctx: Context,
        task: Task,
        wanted: list[str] | None,
        carry: Carry | None,
        strict: bool,
        others: Others | None = None,
    ) -> None:
        self.ctx, self.carry, self.strict, self.others = ctx, carry, strict, others
        self.task = others.task if others else task
        # Those that are carried, too: the sound is for all, and what cannot be carried is encoded anew.
        names = None if wanted is None else [*wanted, *(carry.qualities if carry else ())]
        self.ladder: Ladder = ladder_for(task.source, names)
        self.clear_away()

    def clear_away(self) -> None:
        """What earlier attempts put together: their chunks alone are worth keeping."""
        for folder in self.task.folder.glob("version-*"):
            if folder != self.task.version:
                shutil.rmtree(folder, ignore_errors=True)

    def make_whole(self) -> None:
        """Make what is missing: phases that have ended may have ended on another machine."""
        if not (self.task.version / THUMBNAIL).exists():
            self.thumbnail()
        if self.manifest() is None:
            self.renditions()
        if not (self.task.version / MASTER).exists():
            write_master(self.task.version)

    def check(self) -> None:
        """Raises InvalidOutput. What is not as it should be is thrown away, or the next attempt would find it again."""
        try:
            require_valid(self.task.version)
        except InvalidOutput:
            shutil.rmtree(self.task.version)
            raise

    def manifest(self) -> Manifest | None:
        """Of renditions that are all here."""
        try:
            manifest = Manifest.read(self.task.version)
        except (OSError, ValueError, TypeError, KeyError):
            return None
        return manifest if all((self.task.version / name).is_dir() for name in manifest.folders) else None

    def thumbnail(self) -> None:
        task, target = self.task, self.task.version / THUMBNAIL
        target.parent.mkdir(parents=True, exist_ok=True)
        for second in (min(5.0, task.source.duration / 4), 0.0):  # at the start there is one for certain
            argv = commands.take_thumbnail(task.ffmpeg, task.path, task.source, second, target)
            run_ffmpeg(task, argv, THUMBNAIL_SECONDS)
            if target.exists() and target.stat().st_size:
                return
        target.unlink(missing_ok=True)
        raise InvalidOutput(problems="no picture could be taken for the thumbnail")

    def renditions(self) -> dict[str, str]:
        """Encode what no earlier attempt did; returns what failed."""
        if not conf.KEEP_COMPLETED_QUALITIES:
            shutil.rmtree(self.task.chunks, ignore_errors=True)
        needed = SPARE * estimate(self.ladder, self.task.source.duration) - size_of(self.task.chunks)
        require_room(self.task.folder, RESERVE + max(0, needed))
        for name, reason in self.ladder.skipped.items():
            self.ctx.quality(name).skip(reason)
        carried = self.carried(self.carry.qualities if self.carry else ())
        names = {rendition.name for rendition in carried}
        rungs = tuple(rung for rung in self.ladder.rungs if rung.name not in names)
        ladder = Ladder(rungs, {}, self.ladder.audio_rate)
        if self.others:
            self.others.gather(rungs)
        encoders = self.others.encoders if self.others else ()
        reporter = ProgressReporter(self.ctx, self.task, rungs)
        encoded = encode_all(self.task, ladder, self.ctx.logger, reporter, encoders)
        self.decide(encoded)
        carried += self.carried(encoded.failed)  # better the old one than none
        return self.write_manifest(encoded, carried).failed

    def decide(self, encoded: Encoded) -> None:
        """What failed is tried again with the next attempt, which encodes nothing else. After the last one a quality
        is enough, and what failed is shown; unless all are wanted."""
        is_last = self.ctx.attempt >= self.ctx.max_attempts
        if encoded.failed and (self.strict or not is_last or not encoded.renditions):
            raise next(iter(encoded.failed.values()))

    def carried(self, names: Collection[str]) -> list[Rendition]:
        """Those of the published version that fit, being cut at the same places."""
        old = self.published() if names else None
        if self.carry is None or old is None:
            return []
        task, video = self.task, self.task.source.video
        same = (old.frame_rate, old.segment_frames) == (video.frame_rate, task.segment_frames)
        wanted = [each for each in old.renditions if same and each.name in names]
        for rendition in wanted:
            self.ctx.files.fetch_folder(f"{self.carry.folder}/{rendition.name}", task.version / rendition.name)
        return wanted

    def published(self) -> Manifest | None:
        """What the published version says of itself; None if it is no longer there."""
        if self.carry is None:
            return None
        with TemporaryDirectory(dir=self.task.folder) as folder:
            try:
                self.ctx.files.fetch_folder(self.carry.folder, Path(folder))
                return Manifest.read(Path(folder))
            except FileNotFoundError:
                return None

    def write_manifest(self, encoded: Encoded, carried: list[Rendition]) -> Manifest:
        task = self.task
        manifest = Manifest(
            duration=task.source.duration,
            frame_rate=task.source.video.frame_rate,
            frames=encoded.frames,
            segment_frames=task.segment_frames,
            audio_rate=self.ladder.audio_rate,
            renditions=tuple(sorted([*encoded.renditions, *carried], key=lambda each: -each.width * each.height)),
            failed={name: str(error) for name, error in encoded.failed.items()},
        )
        manifest.write(task.version)
        return manifest
