"""Short ways to videos in any state: sources are small files, and a finished transcode is a folder of small files."""

import os
from pathlib import Path
from typing import Any

from django.core.files.base import ContentFile

from jobs.handlers.base import ClaimRef, Outcome
from jobs.handlers.files import job_storage
from jobs.lifecycle.claim import claim
from jobs.lifecycle.finish import finish_one
from jobs.lifecycle.prioritise import set_priority
from jobs.models import Job
from jobs.states import Status
from jobs.videos.lifecycle.add import add_video
from jobs.videos.lifecycle.orders import key_of
from jobs.videos.models import Video
from jobs.videos.names import version_folder, version_of
from jobs.videos.selectors import library
from tests.factories import make_worker

HEIGHTS = {"1080p": 1080, "720p": 720, "360p": 360}
FILES = (
    "master.m3u8",
    "manifest.json",
    "thumbnail.jpg",
    "720p/init.mp4",
    "720p/playlist.m3u8",
    "720p/segment_00000.m4s",
)


def source_file(folder: Path, name: str = "film.mp4", content: bytes = b"a film") -> Path:
    """A file that nobody will look into."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


def make_video(content: str = "a film", name: str = "film.mp4", **options: Any) -> Video:
    """A video that waits for its transcode."""
    return add_video(ContentFile(content.encode(), name=name), **options).video


def begun(video: Video) -> ClaimRef:
    """A worker has the job of the video that waits."""
    job = Job.objects.get(dedupe_key=key_of(video.pk), status=Status.PENDING)
    set_priority(job.pk, 100)  # whatever else is due comes later
    [taken] = claim(make_worker(), [job.queue])
    assert taken.id == job.pk, f"claimed {taken}"
    return taken.claim


def make_version(video: Video, ref: ClaimRef) -> str:
    """Put the files of an attempt into the storage, as its last phase does; returns the name of the version."""
    version = version_of(ref.job_id, ref.claim_id)
    for name in FILES:
        job_storage().save(f"{version_folder(video.pk, version)}/{name}", ContentFile(b"x"))
    return version


def result_of(version: str, *names: str, failed: dict[str, str] | None = None) -> dict[str, Any]:
    """What a transcode returns."""
    qualities = [
        {
            "name": name, "width": HEIGHTS[name] * 16 // 9, "height": HEIGHTS[name], "bitrate": 1_000_000,
            "codec": "avc1.64001f", "encoder": "libx264", "size": 1000,
        }
        for name in names or ("720p", "360p")
    ]  # fmt: skip
    return {"version": version, "duration": 12.5, "size": 2500, "qualities": qualities, "failed": failed or {}}


def finish_transcode(video: Video, *names: str, failed: dict[str, str] | None = None) -> str:
    """Let the job of the video run to a good end; returns the version."""
    ref = begun(video)
    version = make_version(video, ref)
    answer = finish_one(Outcome.completed(ref, result_of(version, *names, failed=failed)))
    assert answer.status == Status.COMPLETED, reload_video(video).job
    return version


def ready_video(content: str = "a film", *names: str, **options: Any) -> Video:
    video = make_video(content, **options)
    finish_transcode(video, *names)
    return reload_video(video)


def reload_video(video: Video) -> Video:
    """The video as the database has it now, with its status."""
    return library().get(pk=video.pk)


def status_of(video: Video) -> str:
    return reload_video(video).status  # type: ignore[attr-defined]  # annotated by with_status()


def stored_files(media: Path) -> list[str]:
    """All files in the storage."""
    return sorted(path.relative_to(media).as_posix() for path in media.rglob("*") if path.is_file())


def versions_of(media: Path, video: Video) -> list[str]:
    folder = media / "videos" / str(video.pk)
    return sorted(path.name for path in folder.iterdir()) if folder.exists() else []


def long_ago(path: Path, days: float = 2) -> None:
    """As if the file had been written then."""
    then = path.stat().st_mtime - days * 86_400
    os.utime(path, (then, then))
