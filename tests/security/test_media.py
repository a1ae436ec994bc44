"""Videos that would have others opened: what they point to stays closed, and nobody is called.

Each attack has its counterpart, which shows that the file is understood and that the watch would see it.
"""

from pathlib import Path

import pytest

from jobs.handlers.commands import Commands
from jobs.handlers.ffmpeg import find_ffmpeg
from jobs.videos.transcoding.commands import input_of, program
from jobs.videos.transcoding.confined import confinement
from jobs.videos.transcoding.errors import Refused
from jobs.videos.transcoding.probe import probe
from tests.security.media import avi_with_subtitles, mov_kept_elsewhere, write_svg
from tests.videos import bad_sources, sources
from tests.videos.watching import listening, watched

pytestmark = pytest.mark.once
run = Commands(lambda: None).run
WORDS = b"1\n00:00:00,000 --> 00:00:01,000\nplain words\n\n"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("media")


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    """A file that a player would show, and that is nobody's business."""
    path = tmp_path / "secret.ts"
    path.write_bytes(sources.container("ts", tmp_path).read_bytes() + b"hunter2" * 1000)
    return path


@pytest.fixture(scope="module")
def picture(folder: Path) -> bytes:
    path = folder / "picture.jpg"
    sources.ffmpeg(*sources.lavfi("color=size=16x16"), "-frames:v", "1", path)
    return path.read_bytes()


def remuxed(path: Path, demuxer: str, *options: str) -> bytes:
    """All streams of it as they are, read by ffmpeg as we call it, and what it said."""
    ffmpeg, made = find_ffmpeg(), path.with_suffix(".made.mkv")
    assert ffmpeg
    argv = [*program(ffmpeg), *options, *input_of(path, demuxer), "-map", "0", "-c", "copy", f"file:{made}"]
    said = run(argv, timeout=60, check=False, confinement=confinement())
    return said.stderr.encode() + (made.read_bytes() if made.exists() else b"")


def looked_at(path: Path) -> str:
    """What the probe says: mostly that it is a video."""
    try:
        return probe(path, run).demuxer
    except Refused as refusal:
        return str(refusal)


def test_subtitles_inside_are_read_where_they_are_subtitles(picture: bytes, tmp_path: Path):
    assert b"plain words" in remuxed(avi_with_subtitles(tmp_path / "video.avi", picture, WORDS), "avi")


@pytest.mark.parametrize("write", [bad_sources.write_playlist, bad_sources.write_concat_script, write_svg])
def test_subtitles_that_are_a_playlist_open_nothing(write, picture: bytes, secret: Path, tmp_path: Path):
    with listening() as listener, watched(secret) as watch:
        address = f"http://127.0.0.1:{listener.port}/x.ts"
        words = write(tmp_path / "words", str(secret), f"file:{secret}", address).read_bytes()
        path = avi_with_subtitles(tmp_path / "video.avi", picture, words)
        assert looked_at(path) == "avi"
        assert b"hunter2" not in remuxed(path, "avi")
        assert not watch.was_opened
        assert not listener.was_called


def test_a_track_that_is_kept_in_another_file_is_not_fetched(folder: Path, secret: Path, tmp_path: Path):
    path = mov_kept_elsewhere(tmp_path / "video.mov", sources.landscape(folder), secret)
    with watched(secret) as watch:
        looked_at(path)
        assert b"hunter2" not in remuxed(path, "mov")
        assert not watch.was_opened
        remuxed(path, "mov", "-enable_drefs", "1", "-use_absolute_path", "1")
        assert watch.was_opened, "the reference is understood: it is a matter of being told to follow it"


def test_a_drawing_is_no_video(secret: Path, tmp_path: Path):
    with watched(secret) as watch:
        assert "not a video" in looked_at(write_svg(tmp_path / "video.mp4", str(secret)))
        assert not watch.was_opened
