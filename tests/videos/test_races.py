"""Videos that several change at once: real threads, each with a connection of its own."""

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from django.core.files.base import ContentFile
from django.db import transaction

from jobs.handlers.base import ClaimRef
from jobs.lifecycle.cancel import cancel
from jobs.lifecycle.clear import clear
from jobs.lifecycle.finish import complete
from jobs.models import Job
from jobs.states import Status
from jobs.videos.exceptions import VideoNotFound
from jobs.videos.lifecycle.add import Added, add_video
from jobs.videos.lifecycle.remove import remove_video
from jobs.videos.lifecycle.retranscode import retranscode
from jobs.videos.models import Video, VideoQuality
from tests.concurrency.threads import Running, together
from tests.factories import reload
from tests.videos.library import (
    begun,
    make_version,
    make_video,
    ready_video,
    reload_video,
    result_of,
    status_of,
    stored_files,
    versions_of,
)

pytestmark = pytest.mark.django_db(transaction=True)


def add(content: str, **options: object) -> Added:
    return add_video(ContentFile(content.encode(), name="film.mp4"), **options)  # type: ignore[arg-type]


@pytest.mark.parametrize("times", range(3))
def test_of_two_that_add_the_same_content_one_wins_and_the_other_meets_it(media, times):
    answers = together([partial(add, "same")] * 4)
    [made] = [answer for answer in answers if answer.created]
    assert {answer.video.pk for answer in answers} == {made.video.pk}
    assert {answer.job_id for answer in answers} == {made.job_id}
    assert list(Video.objects.all()) == [made.video]
    assert Job.objects.count() == 1
    assert stored_files(media) == [made.video.source]


@pytest.mark.postgres
def test_whoever_comes_second_waits_for_the_first_and_meets_it(media):
    with transaction.atomic():
        first = add("same")
        second = Running(partial(add, "same"))
        second.wait_until_blocked()
    met = second.result()
    assert (met.created, met.video, met.job_id) == (False, first.video, first.job_id)
    assert stored_files(media) == [first.video.source]


@pytest.mark.postgres
def test_whoever_comes_second_wins_if_the_first_is_undone(media):
    with transaction.atomic():
        add("same")
        second = Running(partial(add, "same"))
        second.wait_until_blocked()
        transaction.set_rollback(True)
    assert second.result().created
    assert Video.objects.count() == Job.objects.count() == 1


def test_forced_ones_do_not_meet(media):
    answers = together([partial(add, "same", force=True)] * 3)
    assert all(answer.created for answer in answers)
    assert len(stored_files(media)) == 3


def test_equal_titles_at_once_get_different_addresses(media):
    answers = together([partial(add, str(number), title="The same") for number in range(4)])
    assert all(answer.created for answer in answers)
    assert len(set(Video.objects.values_list("slug", flat=True))) == 4
    assert {job.payload["video"] for job in Job.objects.all()} == {answer.video.pk for answer in answers}


def test_of_several_orders_for_one_video_there_is_one_job(media):
    video = ready_video()
    answers = together([partial(retranscode, video)] * 4)
    assert sorted(answer.created for answer in answers) == [False, False, False, True]
    assert {answer.job_id for answer in answers} == {reload_video(video).job_id}
    assert Job.objects.filter(kind="transcode.hls", status=Status.PENDING).count() == 1


def finish(video: Video) -> tuple[ClaimRef, str]:
    ref = begun(video)
    return ref, make_version(video, ref)


@pytest.mark.parametrize("times", range(5))
def test_a_video_that_is_removed_while_its_version_is_published(media, times):
    video = make_video()
    ref, version = finish(video)
    calls: list[Callable[[], Any]] = [partial(complete, ref, result_of(version)), partial(remove_video, video)]
    [answer, _] = together(calls)
    assert answer.status == Status.COMPLETED
    assert not Video.objects.exists()
    assert not VideoQuality.objects.exists()
    assert not (media / video.source).exists()


@pytest.mark.parametrize("times", range(5))
def test_a_video_that_is_removed_while_it_is_ordered_again(media, times):
    video = make_video()

    def order() -> object:
        try:
            return retranscode(video)
        except VideoNotFound as gone:
            return gone

    calls: list[Callable[[], Any]] = [order, partial(remove_video, video)]
    together(calls)
    assert not Video.objects.exists()
    assert set(Job.objects.filter(kind="transcode.hls").values_list("status", flat=True)) == {Status.CANCELLED}
    assert not stored_files(media)


@pytest.mark.parametrize("times", range(5))
def test_a_new_order_while_a_version_is_published_comes_before_or_after_it(media, times):
    video = make_video()
    ref, version = finish(video)
    finishing, ordering = partial(complete, ref, result_of(version)), partial(retranscode, video, ["360p"])
    calls: list[Callable[[], Any]] = [finishing, ordering]
    [answer, ordered] = together(calls)
    assert answer.status == Status.COMPLETED
    ready = reload_video(video)
    assert (ready.version, status_of(video)) == (version, "ready")
    assert ready.job_id == ordered.job_id
    if ordered.created:
        assert reload(ordered.job_id).payload["carry"] == {"version": version, "qualities": ["720p"]}


@pytest.mark.postgres
def test_publishing_waits_for_a_removal_and_then_has_nothing_to_publish(media):
    video = make_video()
    ref, version = finish(video)
    with transaction.atomic():
        remove_video(video)
        publishing = Running(partial(complete, ref, result_of(version)))
        publishing.wait_until_blocked()
    assert publishing.result().status == Status.COMPLETED
    assert not Video.objects.exists()
    assert versions_of(media, video) in ([], [version])  # the collector's


@pytest.mark.postgres
def test_an_order_waits_for_a_removal_also_where_no_job_is_left_to_wait_for(media):
    video = make_video()
    cancel(video.job_id or 0)
    clear([video.job_id or 0])
    with transaction.atomic():
        remove_video(video)
        ordering = Running(partial(retranscode, video))
        ordering.wait_until_blocked()
    with pytest.raises(VideoNotFound):
        ordering.result()
    assert not Job.objects.filter(kind="transcode.hls").exists()
