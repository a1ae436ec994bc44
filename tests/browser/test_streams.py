"""The admin's pages follow what happens; they say so when they cannot, and catch up."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from django.contrib.auth.models import User

from jobs.handlers.base import Outcome, QualityReport, Report
from jobs.lifecycle.finish import finish_one
from jobs.lifecycle.report import report
from jobs.states import QualityStatus
from tests.admin.visits import HOSTILE, logged_in
from tests.browser.screen import Screen
from tests.factories import claimed, make_job, make_worker
from tests.web.server import WebServer

pytestmark = [pytest.mark.once, pytest.mark.django_db(transaction=True)]
LIVE, BAR = ".jy-live", "[data-quality='720p'] .jy-bar"


@pytest.fixture
def server(screen: Screen, tmp_path: Path) -> Iterator[WebServer]:
    quick = {"JOBS_SSE_INTERVAL": "0.1", "JOBS_SSE_RECONNECT": "0.2"}
    with WebServer(tmp_path / "log", MEDIA_ROOT=str(tmp_path), **quick) as server:
        yield server
        screen.driver.get("about:blank")  # before the server stops: a page that is open would complain


def says(screen: Screen, selector: str, text: str) -> None:
    screen.wait(lambda: screen.text(selector) == text, f"{selector} says {text}")


def at(percent: int) -> list[QualityReport]:
    return [QualityReport("720p", QualityStatus.IN_PROGRESS, progress=percent)]


def test_a_page_follows_loses_the_stream_says_so_and_catches_up(screen: Screen, server: WebServer):
    ref = claimed(make_worker("media-1"), subject="film.mkv")
    report(Report(ref, 10, "encoding", [], at(10)))
    screen.log_in(logged_in(User.objects.create_superuser("anna", password=None)).cookies["sessionid"].value)
    screen.driver.get(f"http://localhost:{server.port}/admin/jobs/job/{ref.job_id}/change/")
    says(screen, LIVE, "Live")
    screen.run("window.same = true")
    report(Report(ref, 50, HOSTILE, [], at(60)))
    says(screen, BAR, "60 %")
    says(screen, "[data-cell=step]", HOSTILE)
    assert screen.complaints() == []

    assert server.stop() == 0
    screen.wait(lambda: screen.text(LIVE) in ("Reconnecting …", "The site does not answer; trying again"), "it says so")
    finish_one(Outcome.completed(ref))
    server.start()
    says(screen, LIVE, "Live")
    says(screen, "h1 .jy-badge", "completed")
    screen.wait(lambda: "completed" in screen.text(".jy-timeline:last-of-type"), "the history is there")
    assert screen.run("return window.same") is True  # and nobody has reloaded the page
    assert all("net::ERR" in complaint for complaint in screen.complaints())


def test_the_list_follows_and_shows_what_others_wrote_as_text(screen: Screen, server: WebServer):
    job = make_job(subject="film.mkv")
    screen.log_in(logged_in(User.objects.create_superuser("anna", password=None)).cookies["sessionid"].value)
    screen.driver.get(f"http://localhost:{server.port}/admin/jobs/job/")
    says(screen, LIVE, "Live")
    row = f"tr[data-job='{job.pk}']"
    ref = claimed(make_worker("media-1"), job)
    says(screen, f"{row} .jy-badge", "claimed")
    says(screen, f"{row} [data-cell=worker]", "media-1")
    report(Report(ref, 30))
    says(screen, f"{row} .jy-bar", "30 %")
    finish_one(Outcome.failed(ref, HOSTILE, fatal=True))
    says(screen, f"{row} [data-cell=error] span:last-child", HOSTILE)
    says(screen, f"{row} .jy-badge", "failed")


def test_the_dashboard_follows_too(screen: Screen, server: WebServer):
    screen.log_in(logged_in(User.objects.create_superuser("anna", password=None)).cookies["sessionid"].value)
    screen.driver.get(f"http://localhost:{server.port}/dashboard/")
    says(screen, LIVE, "Live")
    make_job(subject="film.mkv")
    claimed(make_worker("media-1"), make_job(queue="media", subject="running.mkv"))
    screen.wait(lambda: "running.mkv" in screen.text("#jy-parts"), "the running job is there")


def test_without_streams_the_page_asks_now_and_then_and_says_so(screen: Screen):
    """The tests' own site is served by WSGI."""
    job = make_job()
    screen.log_in(logged_in(User.objects.create_superuser("anna", password=None)).cookies["sessionid"].value)
    screen.open("/admin/jobs/job/")
    says(screen, LIVE, "Polling every 5 s: there is no live stream")
    claimed(job=job)
    says(screen, f"tr[data-job='{job.pk}'] .jy-badge", "claimed")
