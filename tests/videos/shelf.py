"""Videos as a worker leaves them, for tests of pages and files: rows, a job by the verbs, and small files."""

from typing import Any

from django.contrib.auth.models import Permission, User
from django.core.files.base import ContentFile
from django.test import Client
from django.urls import reverse

from jobs.handlers.files import job_storage
from jobs.models import Job
from jobs.videos.models import Video, VideoQuality
from jobs.videos.names import version_folder
from tests.factories import make_job

SEGMENT = bytes(range(256)) * 40  # 10,240 bytes, each block of which is told from the others
FILES: dict[str, bytes] = {
    "master.m3u8": b"#EXTM3U\n#EXT-X-VERSION:7\n",
    "manifest.json": b"{}",
    "thumbnail.jpg": b"\xff\xd8\xff\xe0 a picture",
    "audio/init.mp4": b"audio init",
    "audio/playlist.m3u8": b"#EXTM3U audio\n",
    "audio/segment_00000.m4s": b"audio segment",
    "360p/init.mp4": b"init",
    "360p/playlist.m3u8": b"#EXTM3U 360p\n",
    "360p/segment_00000.m4s": SEGMENT,
}
VERSION, OLDER, UNFINISHED = "7-0123abcd", "3-89abcdef", "9-deadbeef"


def transcode_job(**options: Any) -> Job:
    return make_job("transcode.hls", {"video": 1}, queue="media", allow_unknown=True, **options)


def make_video(slug: str = "film", *, job: Job | None = None, **fields: Any) -> Video:
    facts = {"title": "A film", "source": "sources/1/film.mkv", "source_name": "film.mkv", "source_size": 1000}
    return Video.objects.create(slug=slug, job=job, **(facts | fields))


def ready_video(slug: str = "film", *, job: Job | None = None, **fields: Any) -> Video:
    """A published video with its files."""
    facts = {"version": VERSION, "duration": 83.2, "size": 1_500_000}
    video = make_video(slug, job=job, **(facts | fields))
    VideoQuality.objects.create(
        video=video, name="360p", width=640, height=360, bitrate=812_345, codec="avc1.64001e", encoder="libx264",
        size=1_400_000,
    )  # fmt: skip
    store_version(video, video.version)
    return video


def store_version(video: Video, version: str) -> None:
    for name, content in FILES.items():
        store(video, version, name, content)


def store(video: Video, version: str, name: str, content: bytes) -> str:
    return job_storage().save(f"{version_folder(video.pk, version)}/{name}", ContentFile(content))


def address(path: str, version: str = VERSION, slug: str = "film") -> str:
    return f"/videos/{slug}/files/{version}/{path}"


def page_address(slug: str = "film") -> str:
    return reverse("videos:page", args=[slug])


def client_of(*permissions: str, name: str = "member", csrf: bool = False) -> Client:
    """The client of somebody who is logged in and may do only this."""
    user = User.objects.create_user(name, password=None)
    user.user_permissions.set(Permission.objects.filter(codename__in=permissions, content_type__app_label="videos"))
    client = Client(enforce_csrf_checks=csrf)
    client.force_login(user)
    return client
