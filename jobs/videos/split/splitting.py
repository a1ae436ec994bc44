"""The job that wants the whole video: it has its chunks encoded by others, and fetches them when they have ended.

Nothing is taken on trust: a chunk is used if its hash and its mark are right, and it is what `handed_over` wants. One
that is gone or damaged is ordered again. One that nobody could make is left to this job, which makes it, or fails with
it, as it does without others.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from jobs.conf import conf
from jobs.exceptions import WaitFor
from jobs.handlers.base import Child, Spawn
from jobs.handlers.context import Context
from jobs.states import Accelerator
from jobs.videos.names import job_of_version, part_folder
from jobs.videos.payload import CHUNK
from jobs.videos.split.handed_over import fetch_chunk
from jobs.videos.split.part import Part
from jobs.videos.transcoding.chunks import Chunk
from jobs.videos.transcoding.encoders import Encoder, find_encoder, pinned_encoders
from jobs.videos.transcoding.ladder import Rung
from jobs.videos.transcoding.rendition import Encoding
from jobs.videos.transcoding.reporting import ProgressReporter
from jobs.videos.transcoding.task import Pinned, Task
from jobs.videos.transcoding.told import PINNED, believed

MOST_ORDERS = 3  # of one chunk, where what came was not as it should be
AT_ONCE = 100  # jobs that are spawned by one call
LOWEST_PRIORITY = -100
FETCHING = 97  # per cent of the phase: what took long is done


def is_split(asked: bool | None, duration: float) -> bool:
    """As was ordered, or as the setting has it."""
    return asked if asked is not None else 0 < conf.VIDEO_SPLIT_AFTER < duration


def folder_of_part(video: int, child: Child) -> str | None:
    """Where it says that its chunk is; None where that is not a folder of its own. Another worker said so."""
    folder = child.result.get("folder") if isinstance(child.result, dict) else None
    name = folder.rpartition("/")[2] if isinstance(folder, str) else ""
    return folder if job_of_version(name) == child.id and folder == part_folder(video, name) else None


class Splitting:
    def __init__(self, ctx: Context, video: int, task: Task) -> None:
        self.ctx, self.video = ctx, video
        self.encoders: Sequence[Encoder] = pinned_encoders()
        self.task = replace(task, pinned=self.pinned(task))

    def pinned(self, task: Task) -> Pinned:
        """What the first attempt had at hand, stored before the first chunk is ordered: later ones keep to it."""
        known = self.ctx.last_checkpoint
        pinned = believed(PINNED, known["pinned"]) if isinstance(known, dict) and "pinned" in known else None
        encoder = find_encoder(pinned.encoder) if pinned else None
        if pinned and encoder and (pinned.ffmpeg == task.ffmpeg_version or self.has_begun()):
            self.encoders = [encoder, *(other for other in self.encoders if other != encoder)]
            return pinned
        pinned = Pinned(self.encoders[0].name, task.ffmpeg_version, task.chunk_segments)
        self.ctx.checkpoint({"pinned": pinned.as_json()})
        return pinned

    def has_begun(self) -> bool:
        """Whether chunks are there, or on their way, that would be lost with another ffmpeg."""
        return any(child.completed or not child.ended for child in self.ctx.children())

    def gather(self, rungs: Sequence[Rung]) -> None:
        """Bring all chunks here that others can make. Raises WaitFor as long as some of them are under way."""
        known = {child.key: child for child in self.ctx.children()}
        if known:
            self.ctx.progress(FETCHING, "fetch parts")
        orders: list[Spawn] = []
        for rung in rungs:
            wanted = list(self.missing(rung, known))
            if wanted:
                self.ctx.quality(rung.name).start(segments=self.task.segments)
            orders += wanted
        if orders:
            raise WaitFor(self.spawned(orders))

    def spawned(self, orders: Sequence[Spawn]) -> Iterator[Child]:
        for start in range(0, len(orders), AT_ONCE):
            yield from self.ctx.spawn_many(orders[start : start + AT_ONCE])

    def missing(self, rung: Rung, known: dict[str, Child]) -> Iterator[Spawn]:
        """The chunks of a quality that others are to make, or are making."""
        reporter = ProgressReporter(self.ctx, self.task, (rung,))
        encoding = Encoding(self.task, rung, self.encoders[0], self.ctx.logger, reporter)
        for chunk in encoding.missing():
            order = self.open_order(encoding, chunk, known)
            if order:
                yield order

    def open_order(self, encoding: Encoding, chunk: Chunk, known: dict[str, Child]) -> Spawn | None:
        """None where there is nothing to wait for: the chunk has come, or will not."""
        for number in range(MOST_ORDERS):
            order = self.order(encoding, chunk, number)
            child = known.get(str(order.key))
            if child is None or not child.ended:
                return order
            if not child.completed or self.fetched(encoding, chunk, child):
                return None
        return None

    def fetched(self, encoding: Encoding, chunk: Chunk, child: Child) -> bool:
        folder = folder_of_part(self.video, child)
        return folder is not None and fetch_chunk(self.ctx, folder, encoding.store, chunk)

    def order(self, encoding: Encoding, chunk: Chunk, number: int) -> Spawn:
        rung, of = encoding.rung, len(encoding.plan)
        name = f"{rung.name}, {chunk.number + 1} of {of}"
        task = self.task
        assert task.pinned is not None
        part = Part(self.video, task.name, self.ctx.job_id, task.source, rung, chunk, task.pinned)
        return Spawn(CHUNK, part.as_json(), self.key(name, number), self.options(name, encoding.encoder))

    def key(self, name: str, number: int) -> str:
        again = f", order {number + 1}" if number else ""
        afresh = "" if conf.KEEP_COMPLETED_QUALITIES else f", attempt {self.ctx.attempt}"
        return name + again + afresh

    def options(self, name: str, encoder: Encoder) -> dict[str, Any]:
        """A step behind whole videos: what only needs to be joined must not wait until all others are encoded."""
        return {
            "queue": self.ctx.queue,
            "priority": max(LOWEST_PRIORITY, self.ctx.priority - 1),
            "subject": f"{self.ctx.subject}: {name}"[-500:],
            "size": self.task.source.size,
            "accelerator": Accelerator.REQUIRE if encoder.is_hardware else Accelerator.NONE,
        }
