"""From what encoders tell to what people see: percent, segments, speed and time left of each quality and of all."""

import threading
from time import monotonic

from jobs.handlers.context import Context
from jobs.videos.transcoding.chunks import Chunk
from jobs.videos.transcoding.ladder import Rung
from jobs.videos.transcoding.manifest import Rendition
from jobs.videos.transcoding.rendition import Advance
from jobs.videos.transcoding.task import Task

UNTIL_CHECKED = 99  # per cent: nothing is done before it was checked


class ProgressReporter:
    """Qualities count by their pixels: a quarter of the picture is about a quarter of the work."""

    def __init__(self, ctx: Context, task: Task, rungs: tuple[Rung, ...]) -> None:
        self.ctx, self.task = ctx, task
        self._pixels = {rung.name: rung.pixels for rung in rungs}
        self._shares = dict.fromkeys(self._pixels, 0.0)
        self._began: dict[str, tuple[float, float]] = {}
        self._lock = threading.Lock()

    def started(self, rung: Rung, segments: int) -> None:
        self.ctx.quality(rung.name).start(segments=segments)

    def advanced(self, rung: Rung, advance: Advance) -> None:
        share = min(1.0, advance.frames / self.task.frames)
        with self._lock:
            share = self._shares[rung.name] = max(self._shares[rung.name], share)
            eta = self._eta(rung.name, share)
            overall = sum(self._shares[name] * pixels for name, pixels in self._pixels.items())
        percent = min(UNTIL_CHECKED, 100 * share)
        segments = min(self.task.segments, advance.frames // self.task.segment_frames)
        facts = {"fps": round(advance.fps, 1), "speed": round(advance.speed, 2)} if advance.fps else {}
        self.ctx.quality(rung.name).progress(percent, segments=segments, eta=eta, **facts)
        self.ctx.progress(UNTIL_CHECKED * overall / sum(self._pixels.values()), "transcode")

    def completed(self, rung: Rung, rendition: Rendition) -> None:
        self.advanced(rung, Advance(self.task.frames))
        quality = self.ctx.quality(rung.name)
        quality.segments(self.task.segments, self.task.segments)
        quality.complete(encoder=rendition.encoder, width=rung.width, height=rung.height, eta=0)

    def failed(self, rung: Rung, error: Exception) -> None:
        with self._lock:
            self._shares[rung.name] = 1.0  # it holds up the others no longer
        self.ctx.quality(rung.name).fail(error)

    def _eta(self, name: str, share: float) -> int | None:
        """Seconds left, by the pace since this attempt began: what an earlier one had done took no time now."""
        now = monotonic()
        began, first = self._began.setdefault(name, (now, share))
        made = share - first
        return round((now - began) * (1 - share) / made) if made > 0 else None


class PartReporter:
    """Tells of one chunk: its segments count for the quality of the job that wants it, too."""

    def __init__(self, ctx: Context, rung: Rung, chunk: Chunk, segment_frames: int) -> None:
        self.ctx, self.chunk, self.segment_frames = ctx, chunk, segment_frames
        self.quality, self.segments = ctx.quality(rung.name), -(-chunk.frames // segment_frames)

    def started(self, rung: Rung, segments: int) -> None:
        self.quality.start(segments=self.segments)

    def advanced(self, rung: Rung, advance: Advance) -> None:
        percent = min(UNTIL_CHECKED, 100 * advance.frames / self.chunk.frames)
        facts = {"fps": round(advance.fps, 1), "speed": round(advance.speed, 2)} if advance.fps else {}
        self.quality.progress(percent, segments=min(self.segments, advance.frames // self.segment_frames), **facts)
        self.ctx.progress(percent, "encode")

    def completed(self, rung: Rung, rendition: Rendition) -> None:
        self.quality.segments(self.segments, self.segments)
        self.quality.complete(encoder=rendition.encoder)

    def failed(self, rung: Rung, error: Exception) -> None:
        self.quality.fail(error)
