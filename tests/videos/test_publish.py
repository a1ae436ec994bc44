"""Publishing: one pointer switched in the completion transaction, by the right job, or not at all."""

import logging
from uuid import uuid4

import pytest

from jobs.exceptions import ClaimLost
from jobs.handlers.base import Outcome
from jobs.lifecycle.cancel import cancel
from jobs.lifecycle.finish import complete, fail, finish_one
from jobs.lifecycle.reap import reap_once
from jobs.lifecycle.retry import requeue, retry
from jobs.models import Job
from jobs.states import Status
from jobs.videos.lifecycle.retranscode import retranscode
from jobs.videos.models import Video, VideoQuality
from jobs.videos.names import version_of
from tests.cursed_row import refuse_updates
from tests.factories import age, reload
from tests.videos.library import (
    begun,
    finish_transcode,
    make_version,
    make_video,
    ready_video,
    reload_video,
    result_of,
    status_of,
)

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("media")]


def test_the_first_version_makes_the_video_ready():
    video = make_video()
    version = finish_transcode(video, "1080p", "360p", failed={"720p": "EncoderFailed: no"})
    ready = reload_video(video)
    assert (status_of(video), ready.version, ready.previous_version) == ("ready", version, "")
    assert (ready.duration, ready.size, ready.failed_qualities) == (12.5, 2500, {"720p": "EncoderFailed: no"})
    assert ready.published_at
    assert list(ready.qualities.values_list("name", "width", "height", "bitrate", "codec", "encoder", "size")) == [
        ("1080p", 1920, 1080, 1_000_000, "avc1.64001f", "libx264", 1000),
        ("360p", 640, 360, 1_000_000, "avc1.64001f", "libx264", 1000),
    ]


def test_a_new_version_takes_the_place_of_the_old_one():
    video = ready_video("a film", "1080p", "720p")
    retranscode(video)
    version = finish_transcode(video, "360p")
    ready = reload_video(video)
    assert (ready.version, ready.previous_version) == (version, video.version)
    assert [quality.name for quality in ready.qualities.all()] == ["360p"]
    assert video.published_at
    assert ready.published_at
    assert ready.published_at > video.published_at


def test_the_collector_is_ordered_for_when_the_old_version_is_no_longer_kept(settings):
    settings.JOBS_VIDEO_KEEP_OLD = 7200
    video = ready_video()
    [order] = Job.objects.filter(kind="videos.collect")
    published = reload_video(video).published_at
    assert published
    assert (order.payload, order.hold) == ({"video": video.pk}, "scheduled")
    assert 7200 < (order.run_after - published).total_seconds() < 7203


def test_a_job_that_fails_changes_nothing():
    video = ready_video()
    retranscode(video)
    fail(begun(video), "it broke", fatal=True)
    after = reload_video(video)
    assert (status_of(video), after.version, after.published_at) == ("ready", video.version, video.published_at)
    assert after.error == "it broke"  # type: ignore[attr-defined]
    assert after.qualities.count() == 2


def test_a_lost_claim_publishes_nothing():
    video = make_video()
    ref = begun(video)
    version = make_version(video, ref)
    age(10_000)
    reap_once()
    with pytest.raises(ClaimLost):
        complete(ref, result_of(version))
    assert status_of(video) == "pending"


def test_when_the_completion_cannot_be_written_nothing_is_published():
    video = make_video()
    ref = begun(video)
    refuse_updates(ref.job_id, "NEW.status = 'completed'")
    complete(ref, result_of(make_version(video, ref)))
    assert reload_video(video).version == ""
    assert not VideoQuality.objects.exists()


def test_a_repeated_finish_publishes_once():
    video = make_video()
    ref = begun(video)
    result = result_of(make_version(video, ref))
    complete(ref, result)
    published = reload_video(video).published_at
    assert finish_one(Outcome.completed(ref, result)).repeated
    assert reload_video(video).published_at == published


# Which job may


@pytest.mark.parametrize("newer", [Status.PENDING, Status.RUNNING, Status.COMPLETED])
def test_an_older_job_does_not_undo_what_a_newer_one_does(newer, caplog):
    video = make_video()
    old = begun(video)
    Video.objects.filter(pk=video.pk).update(job_id=None)  # as no verb would: both run at once
    Job.objects.filter(pk=old.job_id).update(dedupe_key=None)
    new = retranscode(video).job_id
    if newer == Status.RUNNING:
        begun(video)
    elif newer == Status.COMPLETED:
        finish_transcode(video)
    before = reload_video(video)
    with caplog.at_level(logging.WARNING, "jobs.videos"):
        assert complete(old, result_of(make_version(video, old))).status == Status.COMPLETED
    after = reload_video(video)
    assert (after.version, after.job_id, after.published_at) == (before.version, new, before.published_at)
    assert f"job {new}, {newer}, took its place" in caplog.text
    assert Job.objects.filter(kind="videos.collect", hold="", dedupe_key=f"collect:{video.pk}").count() == 1


def test_an_older_job_that_was_retried_helps_where_the_newer_one_came_to_nothing():
    video = make_video()
    fail(begun(video), "it broke", fatal=True)
    old, new = video.job_id or 0, retranscode(video).job_id
    cancel(new)
    retry([old])
    version = finish_transcode(video)
    ready = reload_video(video)
    assert (status_of(video), ready.version, ready.job_id) == ("ready", version, old)


def test_a_completed_job_that_is_requeued_publishes_a_new_version():
    video = ready_video()
    requeue([video.job_id or 0])
    assert status_of(video) == "ready"
    version = finish_transcode(video)
    assert reload_video(video).version == version != video.version


def test_for_a_video_that_was_removed_there_is_nothing_to_publish(caplog):
    video = make_video()
    ref = begun(video)
    Video.objects.all().delete()
    with caplog.at_level(logging.WARNING, "jobs.videos"):
        assert complete(ref, result_of(make_version(video, ref))).status == Status.COMPLETED
    assert "the video was removed" in caplog.text
    assert Job.objects.filter(kind="videos.collect", dedupe_key=f"collect:{video.pk}").exists()


# What failed stays told


def test_a_quality_that_failed_before_and_was_not_tried_again_is_still_missing():
    video = make_video()
    finish_transcode(video, "360p", failed={"1080p": "no", "720p": "no"})
    retranscode(reload_video(video), ["720p"])
    finish_transcode(video, "720p", "360p")
    assert reload_video(video).failed_qualities == {"1080p": "no"}
    retranscode(reload_video(video), ["1080p"])
    finish_transcode(video, "720p", "360p", failed={"1080p": "again"})
    assert reload_video(video).failed_qualities == {"1080p": "again"}
    retranscode(reload_video(video))
    finish_transcode(video, "360p")
    assert reload_video(video).failed_qualities == {}


# Results that cannot be


@pytest.mark.parametrize(
    "broken",
    [
        {"version": "999999-0123abcd"},
        {"version": "../../etc"},
        {"version": None},
        {"qualities": []},
        {"qualities": None},
        {"qualities": [{"name": "720p"}]},
        {"size": -1},
        {"size": "large"},
        {"duration": "long"},
        {"duration": None},
        {"failed": ["720p"]},
    ],
)
def test_a_result_that_is_none_fails_the_job_and_publishes_nothing(broken):
    video = make_video()
    ref = begun(video)
    result = result_of(make_version(video, ref)) | broken
    assert complete(ref, result).status == Status.FAILED
    assert "What the transcode returned cannot be published" in reload(ref).last_error
    assert reload_video(video).version == ""


@pytest.mark.parametrize("result", [None, [], "done", {"cut": True, "bytes": 2_000_000}])
def test_so_does_one_of_another_shape(result):
    ref = begun(make_video())
    assert complete(ref, result).status == Status.FAILED


def test_the_version_of_another_attempt_is_not_published():
    video = make_video()
    ref = begun(video)
    assert complete(ref, result_of(version_of(ref.job_id, uuid4()))).status == Status.FAILED
