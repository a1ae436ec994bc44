"""Adding, re-transcoding, renaming and removing videos: rows, jobs and files together."""

import hashlib
import os
from pathlib import Path

import pytest
from django.core.files import File
from django.core.files.base import ContentFile
from django.core.files.storage import FileSystemStorage
from django.core.files.uploadedfile import SimpleUploadedFile, TemporaryUploadedFile

from jobs.exceptions import InvalidInput, UnknownKind
from jobs.handlers.base import Outcome
from jobs.handlers.registry import registry
from jobs.lifecycle.cancel import cancel
from jobs.lifecycle.clear import clear
from jobs.lifecycle.finish import finish_one
from jobs.models import Job
from jobs.states import Status
from jobs.videos.exceptions import NotStored
from jobs.videos.lifecycle.add import add_video
from jobs.videos.lifecycle.rename import rename
from jobs.videos.models import Video
from jobs.videos.transcoding.probing.containers import why_hopeless
from tests.concurrency.threads import rolled_back
from tests.factories import reload
from tests.videos.library import begun, make_video, ready_video, reload_video, source_file, status_of, stored_files

pytestmark = pytest.mark.django_db


def test_a_file_becomes_a_video_with_a_job(media, tmp_path):
    added = add_video(source_file(tmp_path, "My_holiday.mp4", b"waves"), qualities=["360p", "720p"], strict=True)
    video = reload_video(added.video)
    assert (added.created, added.job_id) == (True, video.job_id)
    assert (video.title, video.slug, video.source_name) == ("My holiday", "my-holiday", "My_holiday.mp4")
    assert (video.source_size, video.source_sha256) == (5, hashlib.sha256(b"waves").hexdigest())
    assert (video.source, status_of(video)) == (f"sources/{video.pk}/My_holiday.mp4", "pending")
    assert (media / video.source).read_bytes() == b"waves"
    job = reload(video.job_id or 0)
    assert (job.kind, job.queue, job.subject, job.status) == ("transcode.hls", "media", "My holiday", "pending")
    assert job.payload == {
        "video": video.pk, "source": video.source, "qualities": ["720p", "360p"], "carry": None, "strict": True,
    }  # fmt: skip


def test_the_original_stays_where_it_is(media, tmp_path):
    path = source_file(tmp_path)
    add_video(str(path))
    assert path.read_bytes() == b"a film"


def test_queue_and_priority_are_the_job_s(media):
    job = reload(make_video(queue="urgent", priority=50).job_id or 0)
    assert (job.queue, job.priority, job.payload["qualities"]) == ("urgent", 50, None)


@pytest.mark.parametrize("kind", ["memory", "temporary", "open"])
def test_uploads_and_open_files_are_taken_too(media, tmp_path, kind):
    if kind == "memory":
        file: File = SimpleUploadedFile("clip.mp4", b"content")
    elif kind == "open":
        file = File(source_file(tmp_path, "clip.mp4", b"content").open("rb"), name="clip.mp4")
    else:
        file = TemporaryUploadedFile("clip.mp4", "video/mp4", 7, None)
        file.write(b"content")
    with file:
        video = add_video(file).video
        assert (media / video.source).read_bytes() == b"content"
        assert video.source.endswith("/clip.mp4")


@pytest.mark.parametrize(
    ("name", "title", "slug"),
    [
        ("Big.Buck.Bunny.1080p.mp4", "Big Buck Bunny 1080p", "big-buck-bunny-1080p"),
        ("v1.5 of it.mp4", "v1.5 of it", "v15-of-it"),
        ("-rf 'it'.mp4", "rf 'it'", "rf-it"),
        ("Zoë.mp4", "Zoë", "zoe"),
        ("映画.mp4", "映画", "video"),
        ("___.mp4", "Untitled video", "untitled-video"),
        ("a\x1b[2Jb.mp4", "a [2Jb", "a-2jb"),
        ("x" * 250 + ".mp4", "x" * 200, "x" * 50),
    ],
)
def test_the_title_comes_from_the_name_and_the_address_from_the_title(media, name, title, slug):
    video = make_video(name=name)
    assert (video.title, video.slug) == (title, slug)


def test_a_title_that_is_given_is_kept_on_one_line(media):
    assert make_video(title=" The\n  best ").title == "The best"


def test_equal_titles_get_addresses_of_their_own(media):
    Video.objects.create(title="x", slug="film", source_size=1)
    first = make_video("one")
    taken = f"film-{first.pk + 1}"
    Video.objects.filter(pk=first.pk).update(slug=taken)
    slugs = {make_video(str(number)).slug for number in range(3)}
    assert first.slug == f"film-{first.pk}"
    assert len(slugs) == 3
    assert not slugs & {"film", taken}
    assert all(slug.startswith("film-") for slug in slugs)


def test_the_same_content_is_met_and_not_stored_again(media):
    first = make_video("same")
    before = stored_files(media), Job.objects.count()
    again = add_video(ContentFile(b"same", name="other name.mov"), title="Other")
    assert (again.created, again.video, again.job_id) == (False, first, first.job_id)
    assert (stored_files(media), Job.objects.count(), Video.objects.count()) == (*before, 1)


def test_force_makes_another_video_of_the_same_content(media):
    first, forced = make_video("same"), make_video("same", force=True)
    assert first.pk != forced.pk
    assert len(stored_files(media)) == 2
    Video.objects.filter(pk=first.pk).update(source_sha256="")
    assert make_video("same") == forced


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"qualities": ["720p", "721p"]}, "There is no quality '721p'; choose from 2160p, 1440p"),
        ({"qualities": "720p"}, "must be a list such as ['720p', '360p'], not '720p'"),
        ({"qualities": 720}, "must be a list"),
        ({"qualities": []}, "No quality is named"),
        ({"qualities": [720]}, "There is no quality '720'"),
        ({"title": "x" * 201}, "The title has 201 characters; at most 200"),
        ({"title": "a\x00b"}, "a NUL character"),
        ({"title": None}, "The title must be text"),
        ({"queue": "a b"}, "The queue name 'a b' is not valid"),
        ({"priority": 1000}, "The priority 1000"),
    ],
)
def test_what_cannot_be_is_refused_and_leaves_nothing(media, options, sentence):
    with pytest.raises(InvalidInput) as refusal:
        make_video(**options)
    assert sentence in str(refusal.value)
    assert not Video.objects.exists()
    assert not Job.objects.exists()
    assert not stored_files(media)


def test_files_that_cannot_be_a_source_are_refused(media, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    sentences = {
        tmp_path / "nowhere.mp4": "does not exist.",
        tmp_path: "is a directory; name the files in it.",
        tmp_path / "pipe": "is not a file.",
        tmp_path / "film.mp4" / "inside": "cannot be read: Not a directory.",
        source_file(tmp_path, "empty.mp4", b""): "is empty.",
        Path("a\x00b"): "cannot be read: embedded null byte.",
        tmp_path / ("x" * 300): "cannot be read: File name too long.",
        Path("/proc/self/mem"): "cannot be read: .*Input/output error",
    }
    source_file(tmp_path)
    for path, sentence in sentences.items():
        with pytest.raises(InvalidInput, match=sentence):
            add_video(path)
    with pytest.raises(InvalidInput, match="a path or a Django file, not int"):
        add_video(7)  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="The file is empty"):
        add_video(ContentFile(b""))
    assert not Video.objects.exists()


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"#EXTM3U\nfile:///etc/passwd", "It is a playlist or a script"),
        (b"\x89PNG\r\n\x1a\n", "It is a picture, not a video."),
        (b"RIFF\0\0\0\0WAVE", "It has sound but no picture."),
        (("a" + "ä" * 50_000).encode(), "It is not a video, or in a container that is not accepted"),
    ],
    ids=["playlist", "picture", "sound", "text"],
)
def test_what_is_clearly_no_video_is_refused_when_it_is_added(media, content, sentence):
    with pytest.raises(InvalidInput, match=f"film.mp4 cannot be added. {sentence}"):
        add_video(ContentFile(content, name="film.mp4"))
    assert not Video.objects.exists()
    assert not stored_files(media)


@pytest.mark.parametrize(
    "head",
    [b"\x1a\x45\xdf\xa3", (b"G" + b"a" * 187) * 10, b"\0 a text" * 500, b"\xe4 \xf6 " * 500, b"short"],
    ids=["mkv", "ts like a text", "binary", "not utf-8", "short"],
)
def test_what_only_the_probe_can_tell_is_left_to_it(head):
    assert why_hopeless(head) == ""


class Growing(ContentFile):
    """Somebody is still writing it: each time it is read there is more."""

    def chunks(self, chunk_size=None):
        self.file.seek(0, os.SEEK_END)
        self.file.write(b"more")
        return super().chunks(chunk_size)


def test_a_file_that_changes_while_it_is_read_is_refused(media):
    with pytest.raises(InvalidInput, match=r"film.mp4 changed while it was read; add it when it is complete"):
        add_video(Growing(b"begin", name="film.mp4"))
    assert not stored_files(media)
    assert not Video.objects.exists()


class Full(FileSystemStorage):
    """A disk on which there is no room for all of it."""

    def _save(self, name, content):
        super()._save(name, ContentFile(b"half"))  # type: ignore[misc]  # the stubs leave it out
        raise OSError(28, "No space left on device")


def test_a_disk_that_is_full_is_told_and_keeps_no_half(media, settings):
    settings.STORAGES = {**settings.STORAGES, "jobs": {"BACKEND": "tests.videos.test_library.Full"}}
    with pytest.raises(NotStored, match=r"film.mp4 could not be stored: No space left on device."):
        make_video()
    assert not stored_files(media)
    assert not Video.objects.exists()


def test_when_the_job_cannot_be_made_there_is_no_video_and_no_file(media):
    kind = registry.get("transcode.hls")
    registry.remove(kind.name)
    try:
        with pytest.raises(UnknownKind):
            make_video()
    finally:
        registry.add(kind)
    assert not Video.objects.exists()
    assert not (media / "sources").exists() or not list((media / "sources").iterdir())


def test_video_and_job_are_in_the_caller_s_transaction(media):
    with rolled_back():
        make_video()
    assert not Video.objects.exists()
    assert not Job.objects.exists()


# Status


def test_the_status_is_the_job_s_until_something_is_published(media):
    video = make_video()
    assert status_of(video) == "pending"
    ref = begun(video)
    assert status_of(video) == "processing"
    finish_one(Outcome.failed(ref, "it broke", fatal=True))
    failed = reload_video(video)
    assert (status_of(video), failed.error) == ("failed", "it broke")  # type: ignore[attr-defined]


def test_a_video_whose_job_was_cleared_says_what_to_do(media):
    video = make_video()
    cancel(video.job_id or 0)
    clear([video.job_id or 0])
    orphan = reload_video(video)
    assert status_of(video) == "failed"
    assert "transcode it again" in orphan.error  # type: ignore[attr-defined]
    assert orphan.job is None


# Rename


def test_a_new_title_leaves_the_address(media):
    video = make_video()
    rename(video, "  Another  title ")
    assert (reload_video(video).title, reload_video(video).slug) == ("Another title", "film")
    with pytest.raises(InvalidInput, match="needs a title"):
        rename(video, " ")


def test_ready_videos_are_ready(media):
    video = ready_video()
    assert status_of(video) == "ready"
    assert reload(video.job_id or 0).status == Status.COMPLETED
