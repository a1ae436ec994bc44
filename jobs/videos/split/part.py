"""A part: one chunk of one quality, encoded by whichever worker is free, for the job that wants the whole video."""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from jobs.handlers.context import Context
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
        own = Payload.read(payload.get("video"), payload.get("source"))
        try:
            return cls(
                video=own.video,
                source=own.source,
                job=int(payload["job"]),
                facts=Source.from_json(payload["facts"]),
                rung=Rung(**payload["rung"]),
                chunk=Chunk(**payload["chunk"]),
                pinned=Pinned(**payload["pinned"]),
            )
        except (KeyError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
            raise NotAnOrder(why=f"{type(error).__name__}: {error}") from error

    @property
    def encoder(self) -> Encoder:
        found = find_encoder(self.pinned.encoder)
        if found is None:
            raise NotAnOrder(why=f"there is no encoder {self.pinned.encoder!r}")
        return found


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
