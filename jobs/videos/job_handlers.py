"""The kinds of the app: `transcode.hls` makes a version of a video, `videos.collect` removes what nobody needs."""

from pathlib import Path
from typing import Any

from jobs import handler, pipeline
from jobs.handlers.context import Context
from jobs.states import Accelerator
from jobs.videos.lifecycle.collect import collect
from jobs.videos.lifecycle.publish import publish
from jobs.videos.names import version_folder
from jobs.videos.transcoding.build import Build, Carry
from jobs.videos.transcoding.manifest import Manifest
from jobs.videos.transcoding.playlist import facts_of, write_master
from jobs.videos.transcoding.probe import probe
from jobs.videos.transcoding.source import Source
from jobs.videos.transcoding.task import Task
from jobs.videos.transcoding.validate import require_valid

transcode = pipeline(
    "transcode.hls", queue="media", isolation="process", accelerator=Accelerator.PREFER, on_complete=publish
)


@transcode.phase("probe", weight=1)
def probe_source(ctx: Context, source: str, **payload: Any) -> dict[str, Any]:
    return probe(ctx.files.fetch(source, ctx.workdir), ctx.run).as_json()


@transcode.phase("thumbnail", weight=1)
def take_thumbnail(ctx: Context, **payload: Any) -> None:
    build_of(ctx, **payload).thumbnail()


@transcode.phase("transcode", weight=94)
def encode_qualities(ctx: Context, **payload: Any) -> dict[str, Any]:
    return {"failed": build_of(ctx, **payload).renditions()}


@transcode.phase("master_playlist", weight=1)
def write_playlist(ctx: Context, **payload: Any) -> None:
    build = build_of(ctx, **payload)
    build.make_whole()
    write_master(build.task.version)


@transcode.phase("finalize", weight=3, every_attempt=True)
def finalize(ctx: Context, video: int, **payload: Any) -> dict[str, Any]:
    """Check everything, ask whether the job is still ours, and only then store it: published is it by `publish`."""
    build = build_of(ctx, **payload)
    folder = build.task.version
    if not build.is_whole():
        build.make_whole()
        write_master(folder)
    require_valid(folder)
    version = f"{ctx.job_id}-{ctx.claim_id.hex[:8]}"
    ctx.guard()
    ctx.files.put(folder, version_folder(video, version))
    return {"version": version, **facts(folder), "failed": ctx.phase_result("transcode")["failed"]}


def build_of(
    ctx: Context,
    source: str,
    video: int | None = None,
    qualities: list[str] | None = None,
    carry: dict[str, Any] | None = None,
    strict: bool = False,
) -> Build:
    path = ctx.files.fetch(source, ctx.workdir)
    task = Task(Source.from_json(ctx.phase_result("probe")), path, source, ctx.workdir, ctx.run)
    carried = Carry(version_folder(video, carry["version"]), carry["qualities"]) if carry and video else None
    return Build(ctx, task, qualities, carried, strict)


def facts(folder: Path) -> dict[str, Any]:
    """What the video's page and the admin show of this version."""
    manifest = Manifest.read(folder)
    qualities = []
    for rendition in manifest.renditions:
        told = facts_of(folder, rendition)
        qualities.append({
            "name": rendition.name, "width": rendition.width, "height": rendition.height,
            "encoder": rendition.encoder, "bitrate": told.bitrate, "codec": told.codec, "size": told.size,
        })  # fmt: skip
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    return {"duration": manifest.duration, "size": size, "qualities": qualities}


@handler("videos.collect", queue="media", max_attempts=5)
def collect_versions(ctx: Context, video: int) -> dict[str, Any]:
    return {"removed": collect(video).removed}
