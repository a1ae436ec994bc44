"""The files of a version over HTTP: types, parts, conditions, who may have them, and that nothing else gets out."""

import os
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from django.conf import LazySettings
from django.test import Client

from jobs.handlers.files import job_storage
from jobs.serving.ranges import NotSatisfiable, wanted_part
from jobs.videos.models import Video
from jobs.videos.names import version_folder
from jobs.videos.views.files import served_video
from tests.videos.shelf import (
    FILES,
    OLDER,
    SEGMENT,
    UNFINISHED,
    VERSION,
    address,
    client_of,
    make_video,
    ready_video,
    store_version,
)  # fmt: skip

pytestmark = pytest.mark.django_db
FIRST = "360p/segment_00000.m4s"
TYPES = {
    "master.m3u8": "application/vnd.apple.mpegurl",
    "thumbnail.jpg": "image/jpeg",
    "audio/init.mp4": "audio/mp4",
    "audio/playlist.m3u8": "application/vnd.apple.mpegurl",
    "audio/segment_00000.m4s": "audio/mp4",
    "360p/init.mp4": "video/mp4",
    "360p/playlist.m3u8": "application/vnd.apple.mpegurl",
    "360p/segment_00000.m4s": "video/mp4",
}


@pytest.fixture(autouse=True)
def _media(settings: LazySettings, tmp_path: Path) -> None:
    settings.MEDIA_ROOT = tmp_path / "media"
    settings.STATIC_ROOT = tmp_path / "static"
    settings.STATIC_ROOT.mkdir()  # where there is none, WhiteNoise warns
    settings.JOBS_VIDEO_PUBLIC = True


@pytest.fixture
def video(_media: None) -> Video:
    return ready_video()


def body(answer: Any) -> bytes:
    return b"".join(answer.streaming_content) if answer.streaming else answer.content


@pytest.mark.parametrize(("path", "expected"), TYPES.items())
def test_each_file_is_sent_whole_with_its_type(client: Client, video, path, expected):
    answer = client.get(address(path))
    assert (answer.status_code, answer["Content-Type"], body(answer)) == (200, expected, FILES[path])
    assert answer["Content-Length"] == str(len(FILES[path]))
    assert answer["Accept-Ranges"] == "bytes"
    assert answer["X-Content-Type-Options"] == "nosniff"


def test_every_file_of_a_version_is_served_but_the_manifest(client: Client, video):
    assert TYPES.keys() == FILES.keys() - {"manifest.json"}
    assert client.get(address("manifest.json")).status_code == 404


@pytest.mark.parametrize(
    ("asked", "start", "end"),
    [
        ("bytes=0-", 0, 10_240), ("bytes=0-0", 0, 1), ("bytes=100-199", 100, 200), ("bytes=10239-", 10_239, 10_240),
        ("bytes=-1", 10_239, 10_240), ("bytes=-99999", 0, 10_240), ("bytes=5-99999999999999999999", 5, 10_240),
        ("BYTES = 1-2", 1, 3),
    ],
)  # fmt: skip
def test_one_range_is_answered_with_that_part(client: Client, video, asked, start, end):
    answer = client.get(address(FIRST), headers={"Range": asked})
    assert (answer.status_code, body(answer)) == (206, SEGMENT[start:end])
    assert answer["Content-Range"] == f"bytes {start}-{end - 1}/10240"
    assert answer["Content-Length"] == str(end - start)
    assert answer["Content-Type"] == "video/mp4"


@pytest.mark.parametrize(
    "asked",
    ["bytes=10240-", "bytes=10240-10300", "bytes=5-4", "bytes=-0", "bytes=-", "bytes=a-b", "bytes=", "bytes=٣-"],
)
def test_a_range_that_the_file_does_not_have_is_refused(client: Client, video, asked):
    answer = client.get(address(FIRST), headers={"Range": asked})
    assert (answer.status_code, answer["Content-Range"], answer.content) == (416, "bytes */10240", b"")
    assert "Cache-Control" not in answer


@pytest.mark.parametrize("asked", ["bytes=0-1,5-6", "segments=0-1", "nonsense", ""])
def test_several_ranges_and_other_units_are_answered_with_the_whole_file(client: Client, video, asked):
    answer = client.get(address(FIRST), headers={"Range": asked})
    assert (answer.status_code, body(answer)) == (200, SEGMENT)
    assert "Content-Range" not in answer


def test_an_empty_file_has_no_part():
    with pytest.raises(NotSatisfiable):
        wanted_part("bytes=0-", 0)


def test_head_tells_the_same_without_the_bytes(client: Client, video):
    full, head = client.get(address(FIRST)), client.head(address(FIRST), headers={"Range": "bytes=0-9"})
    assert (head.status_code, head.streaming, head.content) == (200, False, b"")
    for name in ("Content-Length", "Content-Type", "ETag", "Last-Modified", "Cache-Control", "Accept-Ranges"):
        assert head[name] == full[name]
    assert body(full) == SEGMENT


def test_other_methods_are_refused(video):
    client = client_of("view_video", "change_video", "delete_video")
    for method in ("post", "put", "delete", "patch"):
        assert getattr(client, method)(address(FIRST)).status_code == 405


def test_what_the_browser_has_already_is_not_sent_again(client: Client, video):
    first = client.head(address(FIRST))
    for condition in ({"If-None-Match": first["ETag"]}, {"If-Modified-Since": first["Last-Modified"]}):
        again = client.get(address(FIRST), headers=condition)
        assert (again.status_code, again.content, again["ETag"]) == (304, b"", first["ETag"])
        assert "immutable" in again["Cache-Control"]
    changed = client.get(address(FIRST), headers={"If-None-Match": '"something-else"'})
    assert (changed.status_code, body(changed)) == (200, SEGMENT)
    assert client.get(address(FIRST), headers={"If-Match": '"something-else"'}).status_code == 412


def test_a_part_is_sent_only_of_the_same_file(client: Client, video):
    first = client.head(address(FIRST))
    for same in (first["ETag"], first["Last-Modified"]):
        answer = client.get(address(FIRST), headers={"Range": "bytes=0-9", "If-Range": same})
        assert (answer.status_code, body(answer)) == (206, SEGMENT[:10])
    for other in ('"something-else"', "W/" + first["ETag"], "Wed, 21 Oct 2015 07:28:00 GMT", "nonsense"):
        answer = client.get(address(FIRST), headers={"Range": "bytes=0-9", "If-Range": other})
        assert (answer.status_code, body(answer)) == (200, SEGMENT)


def test_on_a_public_site_any_cache_may_keep_a_file_for_all(client: Client, video):
    answer = client.head(address(FIRST))
    assert answer["Cache-Control"] == "public, max-age=31536000, immutable"
    assert "Cookie" not in answer.get("Vary", "")
    assert not answer.cookies


def test_on_a_private_site_only_the_browser_of_whom_may_watch_gets_and_keeps_a_file(client: Client, video, settings):
    settings.JOBS_VIDEO_PUBLIC = False
    assert client.get(address(FIRST)).status_code == 403
    assert client_of(name="nobody").get(address(FIRST)).status_code == 403
    answer = client_of("view_video").get(address(FIRST))
    assert (answer.status_code, body(answer)) == (200, SEGMENT)
    assert answer["Cache-Control"] == "private, max-age=3600, immutable"
    assert "Cookie" in answer["Vary"]


def test_videos_are_private_unless_somebody_says_otherwise(client: Client, video, settings):
    del settings.JOBS_VIDEO_PUBLIC
    assert client.get(address(FIRST)).status_code == 403


def test_strangers_do_not_learn_which_videos_there_are(client: Client, video, settings):
    settings.JOBS_VIDEO_PUBLIC = False
    missing = client.get(address(FIRST, slug="no-such-film"))
    assert (missing.status_code, missing.content) == (403, client.get(address(FIRST)).content)


def test_the_version_before_is_served_and_one_that_is_being_made_is_not(client: Client, video):
    for version in (OLDER, UNFINISHED):
        store_version(video, version)
    assert client.get(address(FIRST, OLDER)).status_code == 404
    Video.objects.update(previous_version=OLDER)
    for version in (OLDER, VERSION):
        answer = client.get(address(FIRST, version))
        assert (answer.status_code, body(answer)) == (200, SEGMENT)
    assert client.get(address(FIRST, UNFINISHED)).status_code == 404


def test_a_video_without_a_version_serves_nothing(client: Client):
    store_version(make_video("plain"), UNFINISHED)
    assert client.get(address(FIRST, UNFINISHED, "plain")).status_code == 404
    assert client.get("/videos/plain/files//master.m3u8").status_code == 404
    assert served_video("plain", "") is None


def test_the_version_of_another_video_is_not_served_under_this_one(client: Client, video):
    ready_video("other", version=OLDER)
    assert body(client.get(address(FIRST, OLDER, "other"))) == SEGMENT
    assert client.get(address(FIRST, OLDER, "film")).status_code == 404


TRICKS = [
    "../../../secret.txt", "..", ".", "./master.m3u8", "../7-0123abcd/master.m3u8", "360p/../master.m3u8",
    "//master.m3u8",
    "/etc/passwd", "360p//init.mp4", "360p/./init.mp4", "360p\\init.mp4", "..\\..\\secret.txt", "master.m3u8\x00",
    "master.m3u8\x00.jpg", "\x00", "master.m3u8/", "master.m3u8\n", "Master.m3u8", "ma\u0455ter.m3u8", "360p", "360p/",
    "360p/secret.txt", "360p/segment_00000.m4s.secret", "360p/segment_1.m4s", "360p/segment_00001.mp4",
    "360p/segment_٠٠٠٠٠.m4s",
    "360p/deeper/init.mp4", ".hidden/init.mp4", "manifest.json", "~/init.mp4", "file:///etc/passwd", "x" * 5000,
]  # fmt: skip


@pytest.mark.parametrize("trick", TRICKS)
@pytest.mark.parametrize(
    "encode", [lambda path: quote(path, safe="/"), lambda path: quote(path, safe="")], ids=["once", "all"]
)
def test_no_other_name_leads_to_a_file(client: Client, video, settings, trick, encode):
    put_secrets(Path(settings.MEDIA_ROOT), video)
    assert client.get(address(encode(trick))).status_code == 404
    assert client.get(address(quote(encode(trick), safe="/"))).status_code == 404  # encoded twice


@pytest.mark.parametrize("version", ["..", ".", "../../sources", "%2e%2e", "7-0123abcd%00", "*", "7-0123ABCD", "%2F"])
def test_no_other_version_leads_to_a_file(client: Client, video, version):
    assert client.get(address("master.m3u8", version)).status_code == 404


def put_secrets(media: Path, video: Video) -> None:
    """Files that exist, so that a hole would show: outside, beside, and in the version itself."""
    for place in (
        "secret.txt",
        f"videos/{video.pk}/{VERSION}/360p/secret.txt",
        f"videos/{video.pk}/{VERSION}/360p/segment_00000.m4s.secret",
        f"videos/{video.pk}/{VERSION}/360p/deeper/init.mp4",
    ):
        (media / place).parent.mkdir(parents=True, exist_ok=True)
        (media / place).write_text("secret")


def test_the_source_is_never_served(client: Client, video, settings):
    source = Path(settings.MEDIA_ROOT) / "sources" / str(video.pk) / "master.m3u8"
    source.parent.mkdir(parents=True)
    source.write_text("secret")
    for path in (
        f"/videos/film/files/../../../sources/{video.pk}/master.m3u8",
        f"/videos/film/files/sources/{video.pk}/master.m3u8",
    ):
        assert client.get(path).status_code == 404


def version_path(video: Video) -> Path:
    return Path(job_storage().path(version_folder(video.pk, VERSION)))


def test_links_are_not_followed(client: Client, video, tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir()
    for name in ("init.mp4", "master.m3u8"):
        (outside / name).write_text("secret")
    folder = version_path(video)
    (folder / "master.m3u8").unlink()
    (folder / "master.m3u8").symlink_to(outside / "master.m3u8")
    (folder / "720p").symlink_to(outside)
    (folder / "480p").symlink_to(folder / "360p")
    for path in ("master.m3u8", "720p/init.mp4", "480p/init.mp4"):
        assert (folder / path).exists()
        assert client.get(address(path)).status_code == 404


def test_the_media_root_itself_may_be_a_link(client: Client, video, settings, tmp_path):
    (tmp_path / "elsewhere").symlink_to(settings.MEDIA_ROOT)
    settings.MEDIA_ROOT = tmp_path / "elsewhere"
    assert body(client.get(address(FIRST))) == SEGMENT


def test_only_plain_files_are_opened(client: Client, video):
    folder = version_path(video)
    (folder / "720p").mkdir()
    (folder / "720p" / "playlist.m3u8").mkdir()
    os.mkfifo(folder / "720p" / "init.mp4")
    # Whoever opens a pipe waits for its other end. Here is one, so that this test fails where the site would hang.
    other_end = os.open(folder / "720p" / "init.mp4", os.O_RDWR)
    try:
        for path in ("720p/init.mp4", "720p/playlist.m3u8", "720p/segment_00000.m4s"):
            assert client.get(address(path)).status_code == 404
    finally:
        os.close(other_end)
