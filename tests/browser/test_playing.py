"""What a real transcode made is played by a real browser: it starts, seeks and reaches its end, at each level."""

from pathlib import Path
from typing import Any

import pytest
from django.conf import LazySettings
from pytest_django.live_server_helper import LiveServer

from jobs.videos.models import Video
from tests.browser.screen import Screen
from tests.videos import sources
from tests.videos.shelf import client_of
from tests.videos.studio import Studio

pytestmark = [pytest.mark.once, pytest.mark.django_db(transaction=True)]
# One colour for each two seconds: the picture tells where in the video it is from.
COLOURS = {"red": (1, 0, 0), "lime": (0, 1, 0), "blue": (0, 0, 1), "white": (1, 1, 1)}
LEVELS = {"480p": (854, 480), "360p": (640, 360)}
SECONDS = 8
PLAYER = "const player = document.getElementById('player');"
COLOUR = """
  const canvas = document.createElement('canvas'); canvas.width = canvas.height = 1;
  const context = canvas.getContext('2d'); context.drawImage(player, 0, 0, 1, 1);
  return [...context.getImageData(0, 0, 1, 1).data.slice(0, 3)].map((part) => Math.round(part / 255));
"""


@pytest.fixture(scope="session")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("source") / "colours.mp4"
    pictures = [f"color=c={name}:size=854x480:rate=10:duration=2[{name}]" for name in COLOURS]
    joined = "".join(f"[{name}]" for name in COLOURS) + f"concat=n={len(COLOURS)}"
    graphs = sources.lavfi(";".join([*pictures, joined]), f"sine=duration={SECONDS}")
    sources.ffmpeg(*graphs, *sources.X264, *sources.AAC, path)
    return path


@pytest.fixture
def video(source: Path, settings: LazySettings, tmp_path: Path, live_server: LiveServer) -> Video:
    settings.JOBS_VIDEO_PUBLIC = True
    video = Studio(tmp_path / "work").transcoded(source, title="Colours")
    assert video.version, video.error  # type: ignore[attr-defined]
    return video


def play(screen: Screen, source: str | None = None) -> None:
    """From the beginning, until the picture moves; the page's own source, or another one in the page's player."""
    told = screen.finish(
        PLAYER + "if (arguments[0]) player.src = arguments[0];"
        "player.addEventListener('timeupdate', () => { if (player.currentTime > 0.2) done('plays'); });"
        "player.addEventListener('error', () => done(player.error.message));"
        "player.play().catch((error) => done(String(error)));",
        source,
    )
    assert told == "plays"


def seek(screen: Screen, seconds: float, colour: str) -> None:
    """Go there, and wait for the picture that belongs there."""
    place = screen.finish(
        PLAYER + "player.pause();"
        "player.addEventListener('seeked', () => done(player.currentTime), { once: true });"
        "player.currentTime = arguments[0];",
        seconds,
    )
    assert place == pytest.approx(seconds, abs=0.01)
    wait_for_colour(screen, colour)


def wait_for_colour(screen: Screen, colour: str) -> None:
    screen.wait(lambda: tuple(screen.run(PLAYER + COLOUR)) == COLOURS[colour], f"the picture is {colour}")


def play_to_the_end(screen: Screen) -> Any:
    return screen.finish(
        PLAYER + "player.addEventListener('ended', () => done(player.currentTime));"
        "player.play().catch((error) => done(String(error)));"
    )


def facts(screen: Screen) -> Any:
    return screen.run(PLAYER + "return [player.videoWidth, player.videoHeight, player.duration]")


def check_playback(screen: Screen, source: str | None = None) -> tuple[int, int]:
    """Start, seek over the boundary of a segment and back, reach the end; returns the size of the picture."""
    play(screen, source)
    for seconds, colour in ((6.5, "white"), (4.5, "blue"), (2.5, "lime"), (0.5, "red"), (SECONDS - 0.8, "white")):
        seek(screen, seconds, colour)
    assert play_to_the_end(screen) == pytest.approx(SECONDS, abs=0.2)
    wait_for_colour(screen, "white")
    width, height, duration = facts(screen)
    assert duration == pytest.approx(SECONDS, abs=0.2)
    return width, height


def test_the_page_plays_the_video_and_shows_no_complaint(screen: Screen, video: Video):
    screen.open("/videos/colours/")
    assert check_playback(screen) in LEVELS.values()
    assert not screen.is_shown("#cannot-play")
    assert not screen.is_shown("#playback-failed")


def test_each_level_plays_at_its_size(screen: Screen, video: Video):
    screen.open("/videos/colours/")
    played = {name: check_playback(screen, f"files/{video.version}/{name}/playlist.m3u8") for name in LEVELS}
    assert played == LEVELS


def test_a_private_video_plays_for_whom_may_watch(screen: Screen, video: Video, settings: LazySettings):
    settings.JOBS_VIDEO_PUBLIC = False
    screen.open("/videos/colours/")
    assert "/accounts/login/" in screen.driver.current_url
    screen.log_in(client_of("view_video").cookies["sessionid"].value)
    screen.open("/videos/colours/")
    play(screen)


def test_a_video_whose_files_are_gone_says_so(screen: Screen, video: Video, settings: LazySettings):
    master = next(Path(settings.MEDIA_ROOT).rglob("master.m3u8"))
    master.unlink()
    screen.open("/videos/colours/")
    screen.wait(lambda: screen.is_shown("#playback-failed"), "the page says that it does not play")
    assert any("404" in complaint for complaint in screen.complaints())


def test_a_browser_that_does_not_play_hls_is_told_why(screen: Screen, video: Video):
    # No such browser can be had beside this one, so this one is made to give the answer that Firefox gives.
    deny = "HTMLMediaElement.prototype.canPlayType = () => '';"
    script = screen.tell("Page.addScriptToEvaluateOnNewDocument", source=deny)["identifier"]
    try:
        screen.open("/videos/colours/")
        assert screen.is_shown("#cannot-play")
        assert "Firefox does not yet" in screen.text("#cannot-play")
        assert screen.has(f"#cannot-play a[href='/videos/colours/files/{video.version}/master.m3u8']")
        assert not screen.is_shown("#playback-failed")
        screen.save_picture("cannot-play")
    finally:
        screen.tell("Page.removeScriptToEvaluateOnNewDocument", identifier=script)
