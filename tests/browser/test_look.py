"""How the pages look: light and dark, narrow and wide, readable, and usable with a keyboard or without scripts."""

from typing import Any

import pytest
from django.conf import LazySettings
from pytest_django.live_server_helper import LiveServer

from jobs.handlers.base import Outcome, PhaseReport, QualityReport, Report
from jobs.lifecycle.finish import finish_one
from jobs.lifecycle.report import report
from jobs.states import PhaseStatus, QualityStatus
from jobs.videos.models import Video, VideoQuality
from tests.browser.screen import Screen
from tests.factories import claimed, make_worker
from tests.videos.shelf import VERSION, client_of, make_video, store, transcode_job
from tests.videos.versions import made_once

pytestmark = [pytest.mark.once, pytest.mark.django_db(transaction=True)]
LONG = "A rather long title about " + "Donaudampfschifffahrtsgesellschaftskapitän" * 3
ERROR = "ffmpeg failed: exit code 1.\nIts last words:\n[libx264 @ 0x5581] " + "cannot-allocate-memory/" * 12
PAGES = {"ready": "/videos/ready/", "moving": "/videos/moving/", "failed": "/videos/failed/", "list": "/videos/"}
SIZES = {"wide": (1280, 900), "tablet": (768, 1024), "narrow": (360, 740), "tiny": (320, 560)}

# The contrast of each text that is shown with what is behind it, by the formula of WCAG; the lowest, and whose it is.
CONTRAST = """
  const numbers = (text) => text.match(/[\\d.]+/g).map(Number);
  const parse = (text) => numbers(text).map((c, i) => (text.startsWith('color(') && i < 3 ? 255 * c : c));
  const light = (rgb) => rgb.slice(0, 3).map((c) => c / 255)
    .map((c) => (c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4))
    .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
  const behind = (node) => {
    for (; node; node = node.parentElement) {
      const rgb = parse(getComputedStyle(node).backgroundColor);
      if (rgb.length === 3 || rgb[3] > 0) return rgb;
    }
    return [255, 255, 255];
  };
  const texts = [...document.querySelectorAll('body *')].filter((node) => node.checkVisibility()
    && [...node.childNodes].some((child) => child.nodeType === 3 && child.textContent.trim()));
  const ratios = texts.map((node) => {
    const [a, b] = [light(parse(getComputedStyle(node).color)), light(behind(node))].sort((x, y) => y - x);
    return [(a + 0.05) / (b + 0.05), node.outerHTML.slice(0, 80)];
  });
  return ratios.sort((x, y) => x[0] - y[0])[0];
"""
# What a screen reader would have no name for.
NAMELESS = """
  return [...document.querySelectorAll('progress, button, a, video, img, [role=region], section')].filter((node) =>
    node.checkVisibility() && !(node.getAttribute('aria-label') || node.getAttribute('aria-labelledby')
      || node.textContent.trim() || node.hasAttribute('alt'))).map((node) => node.outerHTML.slice(0, 80));
"""


@pytest.fixture
def videos(tmp_path_factory: pytest.TempPathFactory, live_server: LiveServer) -> None:
    """One in each state, with more text than anybody would like."""
    make_worker()
    ready(tmp_path_factory)
    job = transcode_job(max_attempts=1)
    make_video("failed", title="A film that failed", job=job)
    finish_one(Outcome.failed(claimed(job=job), ERROR))
    moving_job = transcode_job()
    make_video("moving", title="A film on its way", job=moving_job)
    move(claimed(job=moving_job))
    make_video("waiting", title=LONG, job=transcode_job())


def ready(tmp_path_factory: pytest.TempPathFactory) -> None:
    video = make_video(
        "ready", title="Colours of a summer", version=VERSION, duration=3725.4, size=812_345_678,
        failed_qualities={"2160p": ERROR},
    )  # fmt: skip
    for name, width, height in (("1080p", 1920, 1080), ("720p", 1280, 720), ("360p", 640, 360)):
        VideoQuality.objects.create(
            video=video, name=name, width=width, height=height, bitrate=height * 4321, codec="avc1.640028",
            encoder="libx264", size=height * 300_000,
        )  # fmt: skip
    put_files(video, tmp_path_factory)


def put_files(video: Video, tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = made_once(tmp_path_factory.getbasetemp() / "good-version", sound=True)
    for path in folder.rglob("*"):
        if path.is_file():
            store(video, VERSION, path.relative_to(folder).as_posix(), path.read_bytes())


def move(ref: Any) -> None:
    details = {"fps": 47.96, "speed": 1.92, "eta": 72.4}
    qualities = [
        QualityReport("1080p", QualityStatus.IN_PROGRESS, 38, 120, 45, details=details),
        QualityReport("720p", QualityStatus.IN_PROGRESS, 64, 120, 77, details=details),
        QualityReport("480p", QualityStatus.FAILED, 20, 120, 24, error=ERROR),
        QualityReport("360p", QualityStatus.COMPLETED, 100, 120, 120),
        QualityReport("2160p", QualityStatus.SKIPPED),
    ]
    report(Report(ref, 57, phases=[PhaseReport("transcode", 2, PhaseStatus.RUNNING, 57)], qualities=qualities))


@pytest.fixture
def operator(screen: Screen, videos: None) -> Screen:
    screen.log_in(client_of("view_video", "change_video", "add_video").cookies["sessionid"].value)
    return screen


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_page_fits_every_screen_and_can_be_read(operator: Screen, scheme: str):
    operator.scheme(scheme)
    for page, address in PAGES.items():
        for size, (width, height) in SIZES.items():
            operator.resize(width, height)
            operator.open(address)
            assert operator.run("return document.documentElement.scrollWidth") <= width, (page, size)
            ratio, whose = operator.run(CONTRAST)
            assert ratio >= 4.5, (page, size, whose)
            operator.save_picture(f"{page}-{size}-{scheme}")


def test_dark_is_dark(operator: Screen):
    ground = "return getComputedStyle(document.body).backgroundColor.match(/\\d+/g).map(Number)"
    operator.open("/videos/")
    assert min(operator.run(ground)) > 200
    operator.scheme("dark")
    assert max(operator.run(ground)) < 60


def test_everything_has_a_name_for_those_who_listen(operator: Screen):
    for address in PAGES.values():
        operator.open(address)
        assert operator.run(NAMELESS) == []
        assert operator.run("return document.querySelectorAll('h1').length") == 1
        assert operator.run("return document.documentElement.lang") == "en"


def test_bars_tell_their_value_to_those_who_listen(operator: Screen):
    operator.open("/videos/moving/")
    tree = operator.tell("Accessibility.getFullAXTree")["nodes"]
    bars = {
        node["name"]["value"]: node["value"]["value"]
        for node in tree
        if node.get("role", {}).get("value") == "progressbar" and not node["ignored"]
    }
    assert bars == {"The whole job": 57, "1080p": 38, "720p": 64, "480p": 20, "360p": 100}


def test_without_scripts_a_page_shows_how_it_is(screen: Screen, videos: None, settings: LazySettings):
    settings.JOBS_VIDEO_PUBLIC = True
    screen.tell("Emulation.setScriptExecutionDisabled", value=True)
    try:
        screen.open("/videos/moving/")
        moving = screen.driver.find_element("tag name", "main").text
        screen.open("/videos/ready/")
        ready = screen.driver.find_element("tag name", "main").text
    finally:
        screen.tell("Emulation.setScriptExecutionDisabled", value=False)
    for text in ("Transcoding", "57 %", "45 of 120 segments", "Reload the page to see how far it is."):
        assert text in moving
    assert "do not play HLS video by themselves" in ready
