"""Collecting: what nobody needs any more goes, when its time has come, and nothing else does."""

import pytest
from django.conf import LazySettings
from django.core.files.base import ContentFile
from django.core.files.storage import FileSystemStorage

from jobs.handlers.files import job_storage
from jobs.lifecycle.finish import complete, fail
from jobs.lifecycle.reap import reap_once
from jobs.models import Job
from jobs.videos.exceptions import NotCollected
from jobs.videos.lifecycle import collect as collecting
from jobs.videos.lifecycle.collect import being_made, collect, collect_all
from jobs.videos.lifecycle.remove import remove_video
from jobs.videos.lifecycle.retranscode import retranscode
from jobs.videos.models import Video
from jobs.videos.stored import contents
from tests.factories import age, shift
from tests.videos.library import (
    begun,
    finish_transcode,
    long_ago,
    make_version,
    make_video,
    ready_video,
    reload_video,
    result_of,
    source_file,
    stored_files,
    versions_of,
)

pytestmark = pytest.mark.django_db


def later(seconds: float = 4000) -> None:
    """Time passes, for videos, too."""
    age(seconds)
    shift(Video, seconds)


def orders() -> list[Job]:
    return list(Job.objects.filter(kind="videos.collect").order_by("run_after"))


def republished(video: Video) -> Video:
    retranscode(video)
    finish_transcode(video)
    return reload_video(video)


def test_an_old_version_stays_for_those_who_watch_it_and_goes_then(media):
    video = ready_video()
    newer = republished(video)
    assert collect(video.pk).removed == []
    assert versions_of(media, video) == sorted([video.version, newer.version])
    later()
    assert collect(video.pk).removed == [f"videos/{video.pk}/{video.version}"]
    assert versions_of(media, video) == [newer.version]


def test_its_age_counts_from_when_another_took_its_place(media):
    video = ready_video()
    later(100_000)
    republished(video)
    assert collect(video.pk).removed == []
    later(3000)
    assert collect(video.pk).removed == []
    later(700)
    assert collect(video.pk).removed == [f"videos/{video.pk}/{video.version}"]


def test_how_long_is_a_setting(media, settings):
    video = ready_video()
    republished(video)
    settings.JOBS_VIDEO_KEEP_OLD = 0
    assert collect(video.pk).removed == [f"videos/{video.pk}/{video.version}"]


def test_the_published_version_is_never_touched(media):
    video = ready_video()
    before = stored_files(media)
    later(10_000_000)
    assert collect(video.pk).removed == []
    assert stored_files(media) == before


def test_what_a_crashed_attempt_left_goes_and_what_is_being_made_stays(media):
    video = make_video()
    crashed = make_version(video, begun(video))
    age(10_000)
    reap_once()
    running = make_version(video, begun(video))
    assert collect(video.pk).removed == [f"videos/{video.pk}/{crashed}"]
    assert versions_of(media, video) == [running]


def test_a_version_that_is_complete_but_not_yet_published_stays(media):
    video = ready_video()
    later()
    retranscode(video)
    ref = begun(video)
    version = make_version(video, ref)
    assert collect(video.pk).removed == []
    complete(ref, result_of(version))
    assert reload_video(video).version == version
    assert version in versions_of(media, video)


def test_a_version_that_is_published_while_it_looks_stays(media, monkeypatch):
    video = make_video()
    ref = begun(video)
    version = make_version(video, ref)

    def published_meanwhile(versions):
        complete(ref, result_of(version))
        return being_made(versions)

    monkeypatch.setattr(collecting, "being_made", published_meanwhile)
    collect(video.pk)
    assert versions_of(media, video) == [reload_video(video).version] == [version]


def test_an_attempt_whose_lease_is_over_may_still_come_back(media):
    video = make_video()
    version = make_version(video, begun(video))
    later(10_000)
    assert collect(video.pk).removed == []
    assert versions_of(media, video) == [version]


def test_what_the_next_version_takes_over_stays(media):
    video = ready_video("a film", "720p", "360p")
    retranscode(video, ["360p"])
    Video.objects.filter(pk=video.pk).update(version="1-0123abcd")
    later()
    assert collect(video.pk).removed == []
    assert versions_of(media, video) == [video.version]


def test_everything_of_a_video_that_is_gone_goes(media):
    video, other = ready_video("one"), ready_video("two")
    Video.objects.filter(pk=video.pk).delete()
    long_ago(media / video.source)
    kept = [name for name in stored_files(media) if f"/{other.pk}/" in name]
    assert collect(video.pk).removed == [f"videos/{video.pk}/{video.version}", video.source]
    assert stored_files(media) == kept
    assert not (media / "videos" / str(video.pk)).exists()
    assert not (media / "sources" / str(video.pk)).exists()


def test_a_source_that_is_being_added_right_now_stays(media):
    path = source_file(media, "sources/77/new.mp4")
    assert [each.removed for each in collect_all()] == [[]]
    long_ago(path, days=0.9)
    assert [each.removed for each in collect_all()] == [[]]
    long_ago(path, days=0.2)
    assert [each.removed for each in collect_all()] == [["sources/77/new.mp4"]]


def test_a_second_source_that_a_crash_left_goes_and_the_video_s_own_stays(media):
    video = make_video()
    left = source_file(media, f"sources/{video.pk}/left.mp4")
    long_ago(left)
    long_ago(media / video.source)
    assert collect(video.pk).removed == [f"sources/{video.pk}/left.mp4"]
    assert (media / video.source).exists()


# The next look


def test_it_looks_again_when_what_it_kept_has_become_old(media):
    video = ready_video()
    newer = republished(video)
    Job.objects.filter(kind="videos.collect").delete()
    collect(video.pk)
    collect(video.pk)
    [order] = orders()
    assert newer.published_at
    assert 3600 <= (order.run_after - newer.published_at).total_seconds() <= 7200
    assert order.payload == {"video": video.pk}


def test_it_looks_again_after_an_attempt_that_may_yet_fail(media):
    video = make_video()
    ref = begun(video)
    make_version(video, ref)
    collect(video.pk)
    assert len(orders()) == 1
    fail(ref, "it broke", fatal=True)
    collect(video.pk)
    assert versions_of(media, video) == []


def test_where_nothing_is_left_to_come_it_does_not_look_again(media):
    video = ready_video()
    Job.objects.filter(kind="videos.collect").delete()
    collect(video.pk)
    assert orders() == []


# Only what is ours


STRANGERS = ["videos/readme.txt", "videos/{pk}/notes.txt", "videos/{pk}/old/film.mp4", "videos/{pk}/1-0123ABCD/x",
             "videos/{pk}/.1-0123abcd/x", "videos/lost+found/x", "videos/007/1-0123abcd/x", "sources/readme.txt",
             "sources/{pk}/folder/x", "elsewhere/{pk}/1-0123abcd/x"]  # fmt: skip


def test_names_that_are_not_ours_are_left_alone(media):
    video = ready_video()
    later()
    Video.objects.all().delete()
    strangers = [source_file(media, name.format(pk=video.pk)) for name in STRANGERS]
    for path in [*strangers, media / video.source]:
        long_ago(path)
    assert [each.video_id for each in collect_all()] == [video.pk]
    assert stored_files(media) == sorted(path.relative_to(media).as_posix() for path in strangers)


def test_links_are_neither_followed_nor_removed(media, tmp_path):
    precious = source_file(tmp_path, "elsewhere/1-0123abcd/precious.txt")
    (media / "videos").mkdir(parents=True)
    (media / "videos" / "5").symlink_to(precious.parent.parent)
    (media / "sources").mkdir()
    (media / "sources" / "6").symlink_to(precious.parent)
    (media / "videos" / "7").mkdir()
    (media / "videos" / "7" / "1-0123abcd").symlink_to(precious.parent)
    long_ago(precious)
    assert not any(each.removed for each in collect_all())
    assert collect(5).removed == collect(6).removed == collect(7).removed == []
    assert precious.exists()
    assert (media / "videos" / "5").is_symlink()


def test_a_version_with_a_link_in_it_goes_without_what_the_link_points_to(media, tmp_path):
    precious = source_file(tmp_path, "elsewhere/precious.txt")
    source_file(media, "videos/7/1-0123abcd/master.m3u8")
    (media / "videos" / "7" / "1-0123abcd" / "linked").symlink_to(precious.parent)
    assert collect(7).removed == ["videos/7/1-0123abcd"]
    assert precious.exists()


def test_all_videos_may_be_on_another_disk(media, tmp_path):
    (tmp_path / "large disk").mkdir()
    media.mkdir()
    (media / "videos").symlink_to(tmp_path / "large disk")
    source_file(media, "videos/7/1-0123abcd/master.m3u8")
    assert collect(7).removed == ["videos/7/1-0123abcd"]


# All of them


def test_all_videos_are_looked_through(media):
    first, second = ready_video("one"), ready_video("two")
    republished(first)
    republished(second)
    later()
    assert [each.removed for each in collect_all()] == [
        [f"videos/{first.pk}/{first.version}"], [f"videos/{second.pk}/{second.version}"],
    ]  # fmt: skip
    assert [each.removed for each in collect_all()] == [[], []]


def test_a_dry_run_tells_and_does_nothing(media):
    video = ready_video()
    Video.objects.all().delete()
    long_ago(media / video.source)
    before = stored_files(media), len(orders())
    [would] = collect_all(dry_run=True)
    assert would.removed == [f"videos/{video.pk}/{video.version}", video.source]
    assert (stored_files(media), len(orders())) == before


def test_an_empty_storage_is_nothing_to_do(media):
    assert list(collect_all()) == []


# A storage that is not on a local disk


@pytest.fixture
def remote(settings: LazySettings) -> None:
    """Django's storage in memory: it has no paths."""
    settings.STORAGES = {**settings.STORAGES, "jobs": {"BACKEND": "django.core.files.storage.InMemoryStorage"}}


@pytest.mark.usefixtures("remote")
def test_through_the_storage_api_the_same_goes_and_stays():
    video = ready_video()
    newer = republished(video)
    job_storage().save(f"videos/{video.pk}/notes.txt", ContentFile(b"mine"))
    assert collect(video.pk).removed == []
    later()
    assert collect(video.pk).removed == [f"videos/{video.pk}/{video.version}"]
    assert contents(job_storage(), f"videos/{video.pk}") == ([newer.version], ["notes.txt"])
    assert contents(job_storage(), f"videos/{video.pk}/{newer.version}/720p")[1]


@pytest.mark.usefixtures("remote")
def test_a_removed_video_goes_from_any_storage(django_capture_on_commit_callbacks):
    video = ready_video()
    with django_capture_on_commit_callbacks(execute=True):
        remove_video(video)
    assert contents(job_storage(), "videos") == ([], [])
    assert contents(job_storage(), "sources") == ([], [])


# What cannot be removed


class Stubborn(FileSystemStorage):
    """A disk that has become read-only, as far as sources are concerned."""

    def delete(self, name: str) -> None:
        raise OSError(30, "Read-only file system")


def test_what_could_not_be_removed_is_told_after_all_else_was(media, settings, caplog):
    settings.STORAGES = {**settings.STORAGES, "jobs": {"BACKEND": "tests.videos.test_collect.Stubborn"}}
    left = [source_file(media, f"sources/7/{name}.mp4") for name in "ab"]
    for path in left:
        long_ago(path)
    source_file(media, "videos/7/1-0123abcd/master.m3u8")
    with pytest.raises(NotCollected, match=r"Of video 7, .*sources/7/a.mp4, sources/7/b.mp4.*The log says why"):
        collect(7)
    assert "Read-only file system" in caplog.text
    assert stored_files(media) == ["sources/7/a.mp4", "sources/7/b.mp4"]
    assert [each.failed for each in collect_all()] == [["sources/7/a.mp4", "sources/7/b.mp4"]]
