"""Removing a video: its job is never claimed, its files go, and nobody else's do."""

import pytest
from django.db import transaction

from jobs.exceptions import Cancelled
from jobs.handlers.base import Outcome
from jobs.lifecycle.cancel import cancel
from jobs.lifecycle.claim import claim
from jobs.lifecycle.finish import complete, finish_one
from jobs.lifecycle.retry import retry
from jobs.lifecycle.start import start
from jobs.states import Status
from jobs.videos.exceptions import VideoNotFound
from jobs.videos.lifecycle.collect import collect
from jobs.videos.lifecycle.remove import remove_video
from jobs.videos.lifecycle.retranscode import retranscode
from jobs.videos.models import Video, VideoQuality
from tests.concurrency.threads import rolled_back
from tests.factories import age, make_worker, reload
from tests.videos.library import (
    begun,
    long_ago,
    make_version,
    make_video,
    ready_video,
    result_of,
    stored_files,
    versions_of,
)

pytestmark = pytest.mark.django_db(transaction=True)  # files are removed after the commit


def test_rows_and_files_of_this_video_are_removed_and_no_others(media):
    video, other = ready_video("one"), ready_video("two")
    stranger = media / "videos" / "notes.txt"
    stranger.write_text("mine")
    kept = [name for name in stored_files(media) if f"/{video.pk}/" not in name]
    removed = remove_video(video)
    assert (removed.video_id, removed.slug) == (video.pk, video.slug)
    assert list(Video.objects.all()) == [other]
    assert set(VideoQuality.objects.values_list("video", flat=True)) == {other.pk}
    assert stored_files(media) == kept
    assert not (media / "videos" / str(video.pk)).exists()
    assert not (media / "sources" / str(video.pk)).exists()
    assert stranger.exists()


def test_a_job_that_waits_is_cancelled_and_never_claimed(media):
    video = make_video()
    assert remove_video(video).jobs.cancelled == [video.job_id]
    assert reload(video.job_id or 0).status == Status.CANCELLED
    assert [job.kind for job in claim(make_worker(), ["media"], limit=5)] == []
    assert not stored_files(media)


def test_a_job_in_a_queue_of_its_own_is_cancelled_too(media):
    video = make_video(queue="urgent")
    assert remove_video(video).jobs.cancelled == [video.job_id]


def test_an_older_job_that_was_retried_is_cancelled_too(media):
    video = make_video()
    old = video.job_id or 0
    cancel(old)
    cancel(retranscode(video).job_id)
    retry([old])
    assert remove_video(video).jobs.cancelled == [old]


def test_a_job_that_runs_is_asked_to_stop_and_publishes_nothing(media):
    video = ready_video()
    retranscode(video)
    ref = begun(video)
    version = make_version(video, ref)
    assert remove_video(video).jobs.requested == [ref.job_id]
    assert versions_of(media, video) == [version], "it is being written"
    with pytest.raises(Cancelled):
        start(ref)
    complete(ref, result_of(version))
    assert not Video.objects.exists()
    collect(video.pk)
    assert not stored_files(media)


def test_an_attempt_that_stops_as_asked_leaves_nothing_behind(media):
    video = make_video()
    ref = begun(video)
    remove_video(video)
    make_version(video, ref)  # it had not heard of it
    finish_one(Outcome.cancelled(ref))
    assert reload(ref).status == Status.CANCELLED
    collect(video.pk)
    assert not stored_files(media)


class Died(Exception):
    """Stands for the end of the process: nothing after it is done."""


def die() -> None:
    raise Died


@transaction.atomic
def remove_and_die(video: Video) -> None:
    transaction.on_commit(die)
    remove_video(video)


def test_what_a_crash_right_after_the_commit_left_is_found_by_the_collector(media):
    video = ready_video()
    with pytest.raises(Died):
        remove_and_die(video)
    assert not Video.objects.exists()
    assert versions_of(media, video) == [video.version]
    age(400)
    long_ago(media / video.source)
    orders = claim(make_worker(), ["media"], limit=5)
    assert {order.kind for order in orders} == {"videos.collect"}
    for order in orders:
        collect(order.payload["video"])
    assert not stored_files(media)


def test_a_removal_that_is_rolled_back_removes_nothing(media):
    video = ready_video()
    before = stored_files(media)
    with rolled_back():
        remove_video(video)
    assert Video.objects.get() == video
    assert stored_files(media) == before


def test_nothing_outside_its_own_folders_is_removed_whatever_the_row_says(media, tmp_path):
    video, other = make_video("one"), make_video("two")
    Video.objects.filter(pk=video.pk).update(source=other.source)
    remove_video(video)
    assert (media / other.source).exists()


def test_links_are_not_followed(media, tmp_path):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "precious.txt").write_text("mine")
    video = ready_video()
    (media / "videos" / str(video.pk) / "1-0123abcd").symlink_to(elsewhere)
    (media / "videos" / str(video.pk) / video.version / "linked").symlink_to(elsewhere)
    remove_video(video)
    assert (elsewhere / "precious.txt").exists()
    assert versions_of(media, video) == ["1-0123abcd"]


def test_files_that_are_gone_already_are_no_problem(media):
    video = ready_video()
    (media / video.source).unlink()
    remove_video(video)
    assert not stored_files(media)


def test_a_video_cannot_be_removed_twice(media):
    video = make_video()
    remove_video(video)
    with pytest.raises(VideoNotFound):
        remove_video(video)


def test_the_order_for_the_collector_is_done_by_then(media):
    """Nothing is left for it, and it says so."""
    video = ready_video()
    remove_video(video)
    age(3600)
    for job in claim(make_worker(), ["media"], limit=10):
        assert collect(job.payload["video"]).removed == []
