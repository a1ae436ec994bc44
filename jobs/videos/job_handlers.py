"""The kinds of the app: `transcode.hls` makes a version of a video, where it is long with `transcode.chunk` for its
parts; `videos.collect` removes what nobody needs.
"""

from types import ModuleType
from typing import Any

from jobs import handler, pipeline
from jobs.handlers.context import Context
from jobs.states import Accelerator
from jobs.videos.lifecycle.collect import collect
from jobs.videos.lifecycle.orders import COLLECT, TRANSCODE
from jobs.videos.lifecycle.publish import publish
from jobs.videos.lifecycle.reach import files_of, files_of_part
from jobs.videos.payload import CHUNK, Payload

transcode = pipeline(
    TRANSCODE,
    queue="media",
    isolation="process",
    accelerator=Accelerator.PREFER,
    on_complete=publish,
    files=files_of,
    spawns=(CHUNK,),
)


def phases() -> ModuleType:
    """Imported in the process of a video's job alone: every other process of a worker is smaller without."""
    from jobs.videos import phases

    return phases


@transcode.phase("probe", weight=1)
def probe_source(ctx: Context, **payload: Any) -> dict[str, Any]:
    return dict(phases().probed(ctx, Payload.read(**payload)))


@transcode.phase("thumbnail", weight=1)
def take_thumbnail(ctx: Context, **payload: Any) -> None:
    phases().build_of(ctx, Payload.read(**payload)).thumbnail()


@transcode.phase("transcode", weight=94)
def encode_qualities(ctx: Context, **payload: Any) -> dict[str, Any]:
    return {"failed": phases().build_of(ctx, Payload.read(**payload)).renditions()}


@transcode.phase("master_playlist", weight=1)
def write_playlist(ctx: Context, **payload: Any) -> None:
    phases().build_of(ctx, Payload.read(**payload)).make_whole()


@transcode.phase("finalize", weight=3, every_attempt=True)
def finalize(ctx: Context, **payload: Any) -> dict[str, Any]:
    return dict(phases().finalized(ctx, Payload.read(**payload)))


@handler(CHUNK, queue="media", isolation="process", webhook_url="", files=files_of_part)
def encode_chunk(ctx: Context, **payload: Any) -> dict[str, Any]:
    return dict(phases().chunk_encoded(ctx, payload))


@handler(COLLECT, queue="media", max_attempts=5)
def collect_versions(ctx: Context, video: int) -> dict[str, Any]:
    return {"removed": collect(video).removed}
