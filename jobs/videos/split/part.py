"""A part: one chunk of one quality, encoded by whichever worker is free, for the job that wants the whole video."""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from jobs.handlers.context import Context
from jobs.sanitise import MAX_INTEGER
from jobs.videos.names import part_folder, version_of
from jobs.videos.payload import NotAnOrder, Payload
from jobs.videos.transcoding.chunks import Chunk
from jobs.videos.transcoding.encoders import Encoder, find_encoder
from jobs.videos.transcoding.errors import OtherTools
from jobs.videos.transcoding.ladder import Rung
from jobs.videos.transcoding.manifest import Rendition
from jobs.videos.transcoding.rendition import Encoding
from jobs.videos.transcoding.reporting import PartReporter
from jobs.videos.transcoding.source import Source
from jobs.videos.transcoding.task import Pinned, Task
from jobs.videos.transcoding.told import CHUNK, PINNED, RUNG, SOURCE, whole
from jobs.wire.shapes import TEXT, Record, WrongShape


@dataclass(frozen=True)
class Part:
    """The payload of `transcode.chunk`."""

    video: int
    source: str  # its name in the storage
    job: int  # that wants it
    facts: Source
    rung: Rung
    chunk: Chunk
    pinned: Pinned

    def as_json(self) -> dict[str, Any]:
        plain = {"video": self.video, "source": self.source, "job": self.job, "facts": self.facts.as_json()}
        return plain | {name: asdict(getattr(self, name)) for name in ("rung", "chunk", "pinned")}

    @classmethod
    def read(cls, payload: dict[str, Any]) -> "Part":
        """Anybody who may spawn can write one: nothing of it reaches ffmpeg that an honest one could not say."""
        Payload.read(payload.get("video"), payload.get("source"))
        try:
            return PART.decode(payload)
        except WrongShape as error:
            raise NotAnOrder(why=str(error).rstrip(".")) from error

    @property
    def encoder(self) -> Encoder:
        found = find_encoder(self.pinned.encoder)
        assert found is not None
        return found


PART = Record(
    Part,
    video=whole(1, MAX_INTEGER - 1),
    source=TEXT,
    job=whole(1, MAX_INTEGER - 1),
    facts=SOURCE,
    rung=RUNG,
    chunk=CHUNK,
    pinned=PINNED,
)


def encode_part(ctx: Context, part: Part, path: Path) -> dict[str, Any]:
    """Encode it as every other worker would, and store it under a name of this attempt's own."""
    rung, encoder = part.rung, part.encoder
    task = Task(part.facts, path, part.source, ctx.scratch, ctx.claim_id.hex, ctx.run, part.pinned)
    reporter = PartReporter(ctx, rung, part.chunk, task.segment_frames)
    encoding = Encoding(task, rung, encoder, ctx.logger, reporter)
    if not encoding.can_encode:
        raise OtherTools(here=task.ffmpeg_version, wanted=task.made_with)
    reporter.started(rung, task.segments)
    encoding.encode(part.chunk)
    ctx.guard()
    folder = part_folder(part.video, version_of(ctx.job_id, ctx.claim_id))
    ctx.files.put(encoding.store.folder, folder)
    reporter.completed(rung, Rendition(rung.name, rung.width, rung.height, encoder.name, rung.maxrate))
    return {"folder": folder}
