"""The page of a video: what it shows in each state of its job."""

import re

import pytest

from jobs.handlers.base import Outcome, PhaseReport, QualityReport, Report
from jobs.lifecycle.cancel import cancel
from jobs.lifecycle.clear import clear
from jobs.lifecycle.finish import finish_one
from jobs.lifecycle.queues import pause
from jobs.lifecycle.report import report
from jobs.models import Job, PhaseProgress
from jobs.states import PhaseStatus, QualityStatus
from jobs.videos.shown.waiting import FAR
from tests.factories import age, claimed, make_worker, reload
from tests.videos.shelf import VERSION, make_video, ready_video, transcode_job
from tests.videos.visits import PLAYER, half_way, page, progress, running_video

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("site_folders")]


def test_a_ready_video_is_played_with_its_thumbnail_and_its_qualities(viewer):
    ready_video()
    content = page(viewer)
    assert PLAYER in content
    assert f'poster="/videos/film/files/{VERSION}/thumbnail.jpg"' in content
    for text in ("A film", "1:23", "1.4\xa0MB", "360p", "640 × 360", "812 kbit/s", "avc1.64001e", "libx264"):
        assert text in content
    assert 'id="live"' not in content
    assert "live.js" not in content


def test_the_page_says_why_a_browser_cannot_play_it_and_where_the_playlist_is(viewer):
    ready_video()
    content = page(viewer)
    assert "This browser does not play HLS video by itself" in content
    assert f'<a href="/videos/film/files/{VERSION}/master.m3u8">playlist</a>' in content


def test_a_running_job_is_shown_with_a_bar_for_each_quality(viewer):
    _, ref = running_video()
    half_way(ref)
    content = page(viewer)
    assert "Transcoding" in content
    assert '<progress id="live-bar" max="100" value="42" aria-label="The whole job">' in content
    assert '<progress max="100" value="30" aria-label="720p">' in content
    assert "3 of 10 segments · 48 fps · 1.9× · 1:12 left" in content
    assert 'data-name="1080p" data-status="skipped"' in content
    assert "live.js" in content
    assert "<video" not in content


def test_progress_tells_the_same_as_json(viewer):
    _, ref = running_video()
    half_way(ref)
    told = progress(viewer)
    assert told | {"bars": []} == {
        "status": "processing", "version": "", "again": 1.5, "percent": 42, "text": "Transcoding", "error": "",
        "bars": [],
    }  # fmt: skip
    assert told["bars"][1] == {
        "name": "720p", "status": "in_progress", "percent": 30, "error": "",
        "text": "3 of 10 segments · 48 fps · 1.9× · 1:12 left",
    }  # fmt: skip
    assert [bar["text"] for bar in (told["bars"][0], *told["bars"][2:])] == ["skipped", "completed"]


def test_a_ready_video_with_a_job_on_it_shows_player_and_bars(viewer):
    job = transcode_job()
    ready_video(job=job)
    half_way(claimed(job=job))
    content = page(viewer)
    assert PLAYER in content
    assert "A new version is on its way" in content
    assert '<progress max="100" value="30" aria-label="720p">' in content
    assert progress(viewer)["status"] == "ready"


@pytest.mark.parametrize(("before", "text"), [(0, "Next in line"), (1, "2nd in line"), (2, "3rd in line")])
def test_a_waiting_job_shows_its_place_in_the_line(viewer, before, text):
    make_worker()
    for _ in range(before):
        transcode_job()
    make_video(job=transcode_job())
    transcode_job()
    assert text in page(viewer)
    told = progress(viewer)
    assert (told["status"], told["text"], told["again"]) == ("pending", text, 5.0)


def test_a_place_goes_by_priority_and_counts_no_other_queue(viewer):
    make_video(job=transcode_job())
    transcode_job(priority=5)
    transcode_job(priority=-5)
    claimed(queue="elsewhere")
    claimed(make_worker(queues=["media"]), transcode_job(priority=9))
    assert progress(viewer)["text"] == "2nd in line"


def test_a_line_that_nobody_serves_is_told(viewer):
    make_video(job=transcode_job())
    make_worker(queues=["elsewhere"])
    assert progress(viewer)["text"] == "Next in line · no worker serves the queue media"


def test_of_a_long_line_only_the_front_is_read(viewer, django_assert_max_num_queries):
    make_worker()
    for _ in range(FAR):
        transcode_job()
    make_video(job=transcode_job())
    with django_assert_max_num_queries(10) as asked:
        assert progress(viewer)["text"] == "In line, behind more than 100 others"
    assert [query["sql"] for query in asked.captured_queries if query["sql"].endswith(f"LIMIT {FAR}")]


def test_a_job_in_a_paused_queue_says_so(viewer):
    make_video(job=transcode_job())
    pause("media")
    assert progress(viewer)["text"] == "Waiting: the queue media is paused"


def test_a_failed_attempt_shows_its_error_and_when_the_next_one_comes(viewer):
    _, ref = running_video()
    finish_one(Outcome.failed(ref, "the disk is full"))
    told = progress(viewer)
    assert re.fullmatch(r"Attempt 2 of 2 in 0:\d\d", told["text"])
    assert (told["status"], told["error"]) == ("pending", "the disk is full")
    assert "the disk is full" in page(viewer)


def test_a_later_attempt_a_request_to_stop_and_a_stall_are_told(viewer):
    _, ref = running_video()
    finish_one(Outcome.failed(ref, "broken"))
    Job.objects.update(hold="")
    again = claimed(job=reload(ref))
    assert progress(viewer)["text"] == "Starting · attempt 2 of 2"
    cancel(again.job_id)
    assert progress(viewer)["text"] == "Starting · attempt 2 of 2 · asked to stop"


def test_a_phase_that_a_crash_cut_off_is_not_taken_for_the_present_one(viewer):
    _, ref = running_video()
    half_way(ref)
    finish_one(Outcome.failed(ref, "broken"))
    Job.objects.update(hold="")
    PhaseProgress.objects.update(status=PhaseStatus.RUNNING)  # as a crash leaves it
    claimed(job=reload(ref))
    assert progress(viewer)["text"] == "Starting · attempt 2 of 2"


def test_a_worker_that_went_silent_is_told(viewer):
    running_video()
    age(3600)
    assert progress(viewer)["text"] == "Starting · its worker has gone silent, and another will take over"


def test_a_failed_video_shows_the_error_and_what_to_do(viewer, editor):
    _, ref = running_video()
    finish_one(Outcome.failed(ref, "The source cannot be transcoded: no picture", fatal=True))
    content = page(viewer)
    assert "The source cannot be transcoded: no picture" in content
    assert "Put right what the error names" in content
    assert "<button>" not in content
    assert "<button>Transcode again</button>" in page(editor)
    assert progress(viewer) | {"bars": []} == {
        "status": "failed", "version": "", "again": None, "percent": 0, "text": "", "bars": [],
        "error": "The source cannot be transcoded: no picture",
    }  # fmt: skip


def test_a_video_whose_job_is_gone_says_what_to_do(viewer):
    _, ref = running_video()
    finish_one(Outcome.failed(ref, "broken", fatal=True))
    clear([ref.job_id])
    assert "Its job was cleared before a version was published: transcode it again." in page(viewer)


def test_a_cancelled_job_is_told(viewer):
    job = transcode_job()
    make_video(job=job)
    cancel(job.pk)
    assert "Its job was cancelled." in page(viewer)
    assert progress(viewer)["again"] is None


def test_a_ready_video_outlives_its_job(viewer):
    job = transcode_job()
    ready_video(job=job)
    cancel(job.pk)
    clear([job.pk])
    assert PLAYER in page(viewer)
    assert progress(viewer)["again"] is None


def test_a_ready_video_whose_new_version_failed_still_plays_and_says_why(viewer):
    job = transcode_job()
    ready_video(job=job)
    finish_one(Outcome.failed(claimed(job=job), "the disk is full", fatal=True))
    content = page(viewer)
    assert PLAYER in content
    assert "The new version could not be made" in content
    assert "the disk is full" in content


def test_a_failed_quality_is_shown_with_its_error_and_a_button_for_those_who_may(viewer, editor):
    ready_video(failed_qualities={"2160p": "The encoder died"})
    for text in ("Failed qualities", "2160p", "The encoder died"):
        assert text in page(viewer)
    assert "Transcode 2160p again" not in page(viewer)
    assert "<button>Transcode 2160p again</button>" in page(editor)


def test_what_a_handler_tells_of_itself_may_be_anything(viewer):
    _, ref = running_video()
    odd = {"fps": "fast", "speed": None, "eta": -1}
    quality = QualityReport("720p", QualityStatus.IN_PROGRESS, 5, 10, 1, details=odd)
    report(Report(ref, qualities=[quality], phases=[PhaseReport("a phase of its own", 0, PhaseStatus.RUNNING)]))
    told = progress(viewer)
    assert (told["text"], told["bars"][0]["text"]) == ("a phase of its own", "1 of 10 segments")
