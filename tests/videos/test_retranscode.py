"""Re-transcoding: one job at a time, and a video that can be watched all the while."""

import pytest

from jobs.exceptions import InvalidInput
from jobs.handlers.base import Outcome
from jobs.lifecycle.cancel import cancel
from jobs.lifecycle.clear import clear
from jobs.lifecycle.finish import finish_one
from jobs.lifecycle.retry import retry
from jobs.models import Job
from jobs.states import Status
from jobs.videos.exceptions import VideoNotFound
from jobs.videos.lifecycle.retranscode import retranscode
from jobs.videos.models import Video
from tests.factories import reload
from tests.videos.library import begun, finish_transcode, make_video, ready_video, reload_video, status_of

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("media")]


def failed_video() -> Video:
    video = make_video()
    finish_one(Outcome.failed(begun(video), "it broke", fatal=True))
    return reload_video(video)


def test_all_qualities_are_made_anew_while_the_old_version_stays():
    video = ready_video()
    ordered = retranscode(video)
    job, now = reload(ordered.job_id), reload_video(video)
    assert (ordered.created, now.job_id, now.version, status_of(now)) == (True, job.pk, video.version, "ready")
    assert job.payload == {
        "video": video.pk, "source": video.source, "qualities": None, "strict": False,
        "carry": {"version": video.version, "qualities": []},
    }  # fmt: skip
    begun(video)
    assert status_of(video) == "ready"


def test_named_qualities_are_made_and_the_other_published_ones_taken_over():
    video = ready_video("a film", "1080p", "720p", "360p")
    job = reload(retranscode(video, ["720p"], strict=True).job_id)
    assert job.payload["qualities"] == ["720p"]
    assert job.payload["carry"] == {"version": video.version, "qualities": ["1080p", "360p"]}
    assert job.payload["strict"] is True


@pytest.mark.parametrize("wanted", [["720p", "360p"], ["360p", "720p", "1080p"]])
def test_nothing_is_taken_over_if_all_are_named(wanted):
    assert reload(retranscode(ready_video(), wanted).job_id).payload["carry"]["qualities"] == []


def test_a_video_that_was_never_published_is_like_new():
    job = reload(retranscode(failed_video(), ["720p"]).job_id)
    assert (job.payload["qualities"], job.payload["carry"]) == (["720p"], None)


def test_a_second_call_meets_the_job_that_waits_or_runs():
    video = ready_video()
    first = retranscode(video)
    assert retranscode(video, ["360p"]).job_id == first.job_id
    begun(video)
    again = retranscode(video)
    assert (again.job_id, again.created) == (first.job_id, False)
    assert Job.objects.filter(kind="transcode.hls").count() == 2


def test_the_first_job_is_met_also_in_a_queue_of_its_own():
    video = make_video(queue="urgent")
    assert retranscode(video).created is False
    assert Job.objects.count() == 1


@pytest.mark.parametrize("ending", ["failed", "cancelled", "cleared"])
def test_after_a_job_that_came_to_nothing_there_is_another(ending):
    video = failed_video() if ending == "failed" else make_video()
    cancel(video.job_id or 0)
    if ending == "cleared":
        clear([video.job_id or 0])
    ordered = retranscode(video)
    assert ordered.created
    assert reload_video(video).job_id == ordered.job_id != video.job_id
    assert status_of(video) == "pending"


def test_an_older_job_that_was_retried_becomes_the_one_that_counts():
    video = failed_video()
    old, new = video.job_id or 0, retranscode(video).job_id
    cancel(new)
    retry([old])
    ordered = retranscode(video)
    assert (ordered.job_id, ordered.created) == (old, False)
    finish_transcode(video)
    assert status_of(video) == "ready"


def test_a_job_of_the_same_video_cannot_be_retried_beside_another():
    video = failed_video()
    old = video.job_id or 0
    retranscode(video)
    assert old in retry([old]).skipped
    assert reload(old).status == Status.FAILED


def test_qualities_are_checked_and_nothing_changes():
    video = ready_video()
    with pytest.raises(InvalidInput, match="There is no quality '4320p'"):
        retranscode(video, ["4320p"])
    assert reload_video(video).job_id == video.job_id


def test_a_quality_that_only_this_video_has_can_be_named():
    video = ready_video()
    video.qualities.filter(name="360p").update(name="180p")
    Video.objects.filter(pk=video.pk).update(failed_qualities={"90p": "broken"})
    assert reload(retranscode(video, ["90p", "180p"]).job_id).payload["qualities"] == ["180p", "90p"]


def test_a_removed_video_cannot_be_transcoded():
    video = make_video()
    Video.objects.all().delete()
    with pytest.raises(VideoNotFound, match=f"There is no video {video.pk}."):
        retranscode(video)
