"""What the phases of `transcode.hls` do. Imported by the first of them: what reads and makes videos takes 30 MB."""

import fcntl
from pathlib import Path
from typing import Any

from jobs.handlers.context import Context
from jobs.videos.names import version_folder, version_of
from jobs.videos.payload import Payload
from jobs.videos.split.part import Part, encode_part
from jobs.videos.split.splitting import Splitting, is_split
from jobs.videos.transcoding.build import Build, Carry
from jobs.videos.transcoding.disk import size_of
from jobs.videos.transcoding.manifest import Manifest
from jobs.videos.transcoding.master_playlist import facts_of
from jobs.videos.transcoding.probe import probe
from jobs.videos.transcoding.task import Task
from jobs.videos.transcoding.told import SOURCE, believed


def probed(ctx: Context, asked: Payload) -> dict[str, Any]:
    return probe(local(ctx, asked.source), ctx.run).as_json()


def finalized(ctx: Context, asked: Payload) -> dict[str, Any]:
    """Check everything, ask whether the job is still ours, and only then store it: published is it by `publish`."""
    build, version = build_of(ctx, asked), version_of(ctx.job_id, ctx.claim_id)
    build.make_whole()
    build.check()
    ctx.guard()
    ctx.files.put(build.task.version, version_folder(asked.video, version))
    return {"version": version, **facts(build.task.version)}


def build_of(ctx: Context, asked: Payload) -> Build:
    source = believed(SOURCE, ctx.phase_result("probe"))
    task = Task(source, local(ctx, asked.source), asked.source, ctx.workdir, ctx.claim_id.hex, ctx.run)
    carry = Carry(version_folder(asked.video, asked.carry.version), asked.carry.qualities) if asked.carry else None
    others = Splitting(ctx, asked.video, task) if is_split(asked.split, source.duration) else None
    return Build(ctx, task, asked.qualities, carry, asked.strict, others)


def chunk_encoded(ctx: Context, payload: dict[str, Any]) -> dict[str, Any]:
    part = Part.read(payload)
    return encode_part(ctx, part, copied_into(ctx.workdir_of(part.job), ctx, part.source))


def local(ctx: Context, source: str) -> Path:
    return copied_into(ctx.workdir, ctx, source)


def copied_into(workdir: Path, ctx: Context, source: str) -> Path:
    """The source as a path on this machine; a copy of it has a folder of its own, whatever its name.

    One copy for all jobs of a video: who comes while it is fetched waits for that.
    """
    folder = workdir / "source"
    folder.mkdir(exist_ok=True)
    with (workdir / "source.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
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
