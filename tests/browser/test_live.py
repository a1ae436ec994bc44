"""The bars move while the job goes on, and the page ends as the job does: without anybody reloading it."""

import pytest
from django.conf import LazySettings
from selenium.webdriver.common.by import By

from jobs.handlers.base import ClaimRef, Outcome, PhaseReport, QualityReport, Report
from jobs.lifecycle.finish import finish_one
from jobs.lifecycle.report import report
from jobs.states import PhaseStatus, QualityStatus
from jobs.videos.models import Video
from tests.browser.screen import Screen
from tests.factories import claimed, make_worker
from tests.videos.shelf import OLDER, VERSION, client_of, make_video, ready_video, transcode_job

pytestmark = [pytest.mark.once, pytest.mark.django_db(transaction=True)]
PAGE = "/videos/film/"
HOSTILE = "<img src=x onerror=\"document.title='taken'\"><script>document.title='taken'</script>"


@pytest.fixture(autouse=True)
def _public(settings: LazySettings) -> None:
    settings.JOBS_VIDEO_PUBLIC = True


def moved(ref: ClaimRef, percent: int, *qualities: QualityReport) -> None:
    phase = PhaseReport("transcode", 2, PhaseStatus.RUNNING, percent)
    report(Report(ref, percent, phases=[phase], qualities=qualities))


def bar(screen: Screen, name: str) -> tuple[int, str, str]:
    """What the bar of a quality shows: percent, as a number and as a text, and how it goes."""
    for row in screen.driver.find_elements(By.CSS_SELECTOR, "#bars > li"):
        if row.find_element(By.CSS_SELECTOR, ".name").text == name:
            percent, text = (row.find_element(By.CSS_SELECTOR, each).text for each in (".percent", ".text"))
            return int(str(row.find_element(By.TAG_NAME, "progress").get_property("value"))), percent, text
    return -1, "", ""


def overall(screen: Screen) -> tuple[str, str, int]:
    return (
        screen.text("#live-text"),
        screen.text("#live-percent"),
        screen.run("return document.getElementById('live-bar').value"),
    )


def test_the_bars_move_new_qualities_appear_and_at_last_the_player_does(screen: Screen):
    job = transcode_job()
    video = make_video(job=job)
    make_worker()
    screen.open(PAGE)
    assert overall(screen) == ("Next in line", "0 %", 0)
    ref = claimed(job=job)
    moved(
        ref, 10, QualityReport("720p", QualityStatus.IN_PROGRESS, 12, 10, 1, details={"fps": 50, "speed": 2, "eta": 9})
    )
    screen.wait(lambda: overall(screen) == ("Transcoding", "10 %", 10), "the whole job has moved")
    assert bar(screen, "720p") == (12, "12 %", "1 of 10 segments · 50 fps · 2× · 0:09 left")
    assert screen.text("#status") == "processing"
    moved(
        ref,
        60,
        QualityReport("720p", QualityStatus.COMPLETED, 100, 10, 10),
        QualityReport("360p", QualityStatus.IN_PROGRESS, 7, 10, 0),
    )
    screen.wait(lambda: bar(screen, "360p") == (7, "7 %", "0 of 10 segments"), "another quality has appeared")
    assert bar(screen, "720p") == (100, "100 %", "completed")
    Video.objects.filter(pk=video.pk).update(version=VERSION)
    finish_one(Outcome.completed(ref))
    screen.wait(lambda: screen.has("#player"), "the page shows the player")
    assert not screen.has("#live")
    assert any("404" in complaint for complaint in screen.complaints())  # the version has no files in this test


@pytest.mark.parametrize(
    ("published", "told"),
    [
        (OLDER, "A new version is ready. Reload the page to watch it."),
        (VERSION, "It has ended without a new version. Reload the page to see why."),
    ],
)
def test_whoever_watches_is_not_interrupted_when_the_job_ends(screen: Screen, published: str, told: str):
    job = transcode_job()
    ready_video(job=job)
    ref = claimed(job=job)
    screen.open(PAGE)
    screen.run("document.getElementById('player').dataset.mine = 'kept'")
    Video.objects.update(version=published)
    finish_one(Outcome.failed(ref, "the disk is full", fatal=True))
    screen.wait(lambda: screen.is_shown("#live-note"), "the page says that it has ended")
    assert screen.text("#live-note") == told
    assert screen.run("return document.getElementById('player').dataset.mine") == "kept"
    screen.complaints()  # the files of this version are no video


def test_a_failed_attempt_and_the_end_are_told(screen: Screen):
    job = transcode_job(max_attempts=1)
    make_video(job=job)
    ref = claimed(job=job)
    screen.log_in(client_of("view_video").cookies["sessionid"].value)
    screen.open(PAGE)
    moved(ref, 30, QualityReport("720p", QualityStatus.FAILED, 30, error="The encoder died"))
    screen.wait(lambda: "The encoder died" in screen.text("#bars"), "the error of a quality is shown")
    finish_one(Outcome.failed(ref, "All qualities failed"))
    screen.wait(lambda: screen.has(".failure"), "the page shows what became of it")
    assert "All qualities failed" in screen.text(".failure")
    assert screen.text("#status") == "failed"


def test_a_page_whose_video_was_removed_stops_asking(screen: Screen):
    job = transcode_job()
    video = make_video(job=job)
    screen.open(PAGE)
    video.delete()
    screen.wait(lambda: screen.is_shown("#live-note"), "the page says that it is out of date")
    assert screen.text("#live-note") == "This page is out of date. Reload it."
    assert any("404" in complaint for complaint in screen.complaints())


def test_hostile_texts_stay_texts_also_when_a_script_writes_them(screen: Screen):
    job = transcode_job()
    make_video(job=job, title=HOSTILE)
    ref = claimed(job=job)
    screen.log_in(client_of("view_video").cookies["sessionid"].value)
    screen.open(PAGE)
    assert screen.text("h1") == HOSTILE
    short = "<b onclick=1>720p</b>"
    phase = PhaseReport(HOSTILE, 0, PhaseStatus.RUNNING)
    report(Report(ref, 5, phases=[phase], qualities=[QualityReport(short, QualityStatus.FAILED, error=HOSTILE)]))
    screen.wait(lambda: screen.text("#live-text") == HOSTILE, "the phase is shown as it is called")
    assert screen.text("#bars .name") == short
    assert screen.text("#bars .error") == HOSTILE
    assert not screen.has("main img, main b, main script")
    assert screen.driver.title == " ".join(HOSTILE.split())
