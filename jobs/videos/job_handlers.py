"""The kinds of the app: `transcode.hls` makes a version of a video, `videos.collect` removes what nobody needs."""

from pathlib import Path
from typing import Any

from jobs import handler, pipeline
from jobs.handlers.context import Context
from jobs.states import Accelerator
from jobs.videos.lifecycle.collect import collect
from jobs.videos.lifecycle.orders import COLLECT, TRANSCODE
from jobs.videos.lifecycle.publish import publish
from jobs.videos.names import version_folder, version_of
from jobs.videos.payload import Payload
from jobs.videos.transcoding.build import Build, Carry
from jobs.videos.transcoding.disk import size_of
from jobs.videos.transcoding.manifest import Manifest
from jobs.videos.transcoding.master_playlist import facts_of
from jobs.videos.transcoding.probe import probe
from jobs.videos.transcoding.source import Source
from jobs.videos.transcoding.task import Task

transcode = pipeline(TRANSCODE, queue="media", isolation="process", accelerator=Accelerator.PREFER, on_complete=publish)


@transcode.phase("probe", weight=1)
def probe_source(ctx: Context, **payload: Any) -> dict[str, Any]:
    return probe(local(ctx, Payload.read(**payload).source), ctx.run).as_json()


@transcode.phase("thumbnail", weight=1)
def take_thumbnail(ctx: Context, **payload: Any) -> None:
    build_of(ctx, Payload.read(**payload)).thumbnail()


@transcode.phase("transcode", weight=94)
def encode_qualities(ctx: Context, **payload: Any) -> dict[str, Any]:
    return {"failed": build_of(ctx, Payload.read(**payload)).renditions()}


@transcode.phase("master_playlist", weight=1)
def write_playlist(ctx: Context, **payload: Any) -> None:
    build_of(ctx, Payload.read(**payload)).make_whole()


@transcode.phase("finalize", weight=3, every_attempt=True)
def finalize(ctx: Context, **payload: Any) -> dict[str, Any]:
    """Check everything, ask whether the job is still ours, and only then store it: published is it by `publish`."""
    asked = Payload.read(**payload)
    build, version = build_of(ctx, asked), version_of(ctx.job_id, ctx.claim_id)
    build.make_whole()
    build.check()
    ctx.guard()
    ctx.files.put(build.task.version, version_folder(asked.video, version))
    return {"version": version, **facts(build.task.version)}


def build_of(ctx: Context, asked: Payload) -> Build:
    source = Source.from_json(ctx.phase_result("probe"))
    task = Task(source, local(ctx, asked.source), asked.source, ctx.workdir, ctx.claim_id.hex, ctx.run)
    carry = Carry(version_folder(asked.video, asked.carry.version), asked.carry.qualities) if asked.carry else None
    return Build(ctx, task, asked.qualities, carry, asked.strict)


def local(ctx: Context, source: str) -> Path:
    """The source as a path on this machine; a copy of it has a folder of its own, whatever its name."""
    folder = ctx.workdir / "source"
    folder.mkdir(exist_ok=True)
    return ctx.files.fetch(source, folder)


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
    return {"duration": manifest.duration, "size": size_of(folder), "qualities": qualities, "failed": manifest.failed}


@handler(COLLECT, queue="media", max_attempts=5)
def collect_versions(ctx: Context, video: int) -> dict[str, Any]:
    return {"removed": collect(video).removed}
