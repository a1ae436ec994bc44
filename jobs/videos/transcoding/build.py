"""Puts a version together, step by step. Each step finds what is there already, whichever attempt made it."""

import shutil
from dataclasses import dataclass, field
from typing import Any

from jobs.conf import conf
from jobs.handlers.context import Context
from jobs.videos.transcoding import commands
from jobs.videos.transcoding.disk import SPARE, estimate, require_room
from jobs.videos.transcoding.encoding import Encoded, encode_all
from jobs.videos.transcoding.errors import InvalidOutput
from jobs.videos.transcoding.ladder import Ladder, ladder_for
from jobs.videos.transcoding.manifest import AUDIO, THUMBNAIL, Manifest, Rendition
from jobs.videos.transcoding.reporting import ProgressReporter
from jobs.videos.transcoding.task import Task


@dataclass(frozen=True)
class Carry:
    """Qualities of the published version that go into the new one as they are."""

    folder: str  # of that version in the storage
    qualities: list[str] = field(default_factory=list)


class Build:
    def __init__(self, ctx: Context, task: Task, wanted: list[str] | None, carry: Carry | None, strict: bool) -> None:
        self.ctx, self.task, self.strict = ctx, task, strict
        self.ladder: Ladder = ladder_for(task.source, wanted)
        self.carry = carry

    def thumbnail(self) -> None:
        target = self.task.version / THUMBNAIL
        target.parent.mkdir(parents=True, exist_ok=True)
        target.unlink(missing_ok=True)
        self.task.run(commands.take_thumbnail(self.task.ffmpeg, self.task.path, self.task.source, target), timeout=120)
        if not target.exists() or target.stat().st_size == 0:
            raise InvalidOutput(problems="no picture could be taken for the thumbnail")

    def renditions(self) -> dict[str, Any]:
        """Encode what is missing and write the manifest; returns what failed."""
        require_room(self.task.folder, SPARE * estimate(self.ladder, self.task.source.duration))
        for name, reason in self.ladder.skipped.items():
            self.ctx.quality(name).skip(reason)
        if not conf.KEEP_COMPLETED_QUALITIES:
            shutil.rmtree(self.task.chunks, ignore_errors=True)  # those of earlier attempts
        self.clear_away()
        carried = self.carried()
        rungs = tuple(rung for rung in self.ladder.rungs if rung.name not in {each.name for each in carried})
        ladder = Ladder(rungs, {}, self.ladder.audio_rate)
        encoded = encode_all(self.task, ladder, self.ctx.logger, ProgressReporter(self.ctx, self.task, rungs))
        self.decide(encoded)
        self.write_manifest(encoded.frames, [*encoded.renditions, *carried])
        return {name: str(error) for name, error in encoded.failed.items()}

    def clear_away(self) -> None:
        """What an earlier attempt put together: chunks alone are worth keeping, and what is stored shares its bytes."""
        for path in self.task.version.iterdir():
            if path.is_dir():
                shutil.rmtree(path)
            elif path.name != THUMBNAIL:
                path.unlink()

    def decide(self, encoded: Encoded) -> None:
        """One quality is enough, and what failed is shown; where all are wanted, one that failed is too many."""
        if encoded.failed and (self.strict or not encoded.renditions):
            raise next(iter(encoded.failed.values()))

    def carried(self) -> list[Rendition]:
        if self.carry is None:
            return []
        folder = self.task.folder / "carried"
        self.ctx.files.fetch_folder(self.carry.folder, folder)
        old = Manifest.read(folder)
        video = self.task.source.video
        if (old.frame_rate, old.segment_frames) != (video.frame_rate, self.task.segment_frames):
            return []  # cut at other places: they are encoded anew
        wanted = [each for each in old.renditions if each.name in self.carry.qualities]
        for rendition in wanted:
            self.ctx.files.fetch_folder(f"{self.carry.folder}/{rendition.name}", self.task.version / rendition.name)
        return wanted

    def write_manifest(self, frames: int, renditions: list[Rendition]) -> None:
        video = self.task.source.video
        ordered = sorted(renditions, key=lambda rendition: -rendition.width * rendition.height)
        Manifest(
            duration=self.task.source.duration,
            frame_rate=video.frame_rate,
            frames=frames,
            segment_frames=self.task.segment_frames,
            audio_rate=self.ladder.audio_rate,
            renditions=tuple(ordered),
        ).write(self.task.version)

    def is_whole(self) -> bool:
        """Whether the files are here: phases that have ended may have ended on another machine."""
        version = self.task.version
        try:
            names = [each.name for each in Manifest.read(version).renditions]
        except (OSError, ValueError, TypeError, KeyError):
            return False
        folders = [*names, *([AUDIO] if self.ladder.audio_rate else [])]
        return (version / THUMBNAIL).exists() and all((version / name).is_dir() for name in folders)

    def make_whole(self) -> None:
        if not self.is_whole():
            self.thumbnail()
            self.renditions()
