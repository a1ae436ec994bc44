"""Small HLS versions made with ffmpeg, as a transcode would leave them: the good ones that tests copy and damage."""

import shutil
import subprocess
from fractions import Fraction
from pathlib import Path

import imageio_ffmpeg
import pytest

from jobs.videos.transcoding.manifest import AUDIO, PLAYLIST, THUMBNAIL, Manifest, Rendition
from jobs.videos.transcoding.master_playlist import write_master

RATE = Fraction(30000, 1001)
FRAMES, SEGMENT_FRAMES = 100, 30  # four segments, of which the last is a short one
DURATION = float(FRAMES / RATE)
SIZES = {"180p": (320, 180), "90p": (160, 90)}
# The clock of each track begins at zero, and no player has to know edit lists for it.
NO_EDITS = ("-hls_segment_options", "movflags=+negative_cts_offsets:use_editlist=0")


@pytest.fixture(scope="session", name="good_version")
def _good_version(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two qualities with sound. It is there for all tests: damage a copy."""
    return made_once(tmp_path_factory.getbasetemp() / "good-version", sound=True)


@pytest.fixture(scope="session", name="silent_version")
def _silent_version(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two qualities without sound."""
    return made_once(tmp_path_factory.getbasetemp() / "silent-version", sound=False)


@pytest.fixture(name="version")
def _version(good_version: Path, tmp_path: Path) -> Path:
    """A good version of the test's own."""
    return shutil.copytree(good_version, tmp_path / "version")


def made_once(folder: Path, sound: bool) -> Path:
    return folder if folder.exists() else make_version(folder, sound=sound)


def make_version(folder: Path, *, sound: bool = True) -> Path:
    for name, size in SIZES.items():
        make_picture(folder / name, size)
    if sound:
        make_sound(folder / AUDIO)
    picture = f"testsrc2=size=320x180:duration=1:rate={RATE}"
    ffmpeg("-f", "lavfi", "-i", picture, "-frames:v", "1", "-f", "mjpeg", folder / THUMBNAIL)
    manifest_of(sound).write(folder)
    write_master(folder)
    return folder


def manifest_of(sound: bool = True) -> Manifest:
    renditions = tuple(Rendition(name, *size, "libx264", 300) for name, size in SIZES.items())
    return Manifest(DURATION, RATE, FRAMES, SEGMENT_FRAMES, 64 if sound else 0, renditions)


def make_picture(
    folder: Path,
    size: tuple[int, int],
    *options: str,
    frames: int = FRAMES,
    segment_frames: int = SEGMENT_FRAMES,
    group: int = 0,
    edits: tuple[str, ...] = NO_EDITS,
) -> None:
    """One quality; `options` come last, so that they win."""
    keys = ("-g", str(group or segment_frames), "-keyint_min", str(group or segment_frames), "-sc_threshold", "0")
    ffmpeg(
        "-f", "lavfi", "-i", f"testsrc2=size={size[0]}x{size[1]}:rate={RATE}", "-frames:v", str(frames),
        "-c:v", "libx264", "-preset", "veryfast", "-pix_fmt", "yuv420p", *keys, "-x264-params", "open_gop=0",
        *hls(folder, float(segment_frames / RATE) - 0.0001), *edits, *options, folder / PLAYLIST,
    )  # fmt: skip


def make_sound(folder: Path, *options: str, seconds: float = DURATION, edits: tuple[str, ...] = NO_EDITS) -> None:
    ffmpeg(
        "-f", "lavfi", "-i", f"sine=frequency=440:duration={seconds}", "-ac", "2", "-ar", "48000", "-c:a", "aac",
        "-b:a", "64k", *hls(folder, 1.0), *edits, *options, folder / PLAYLIST,
    )  # fmt: skip


def hls(folder: Path, seconds: float) -> list[str]:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return [
        "-f", "hls", "-hls_time", f"{seconds:.6f}", "-hls_segment_type", "fmp4", "-hls_playlist_type", "vod",
        "-hls_flags", "independent_segments", "-hls_fmp4_init_filename", "init.mp4",
        "-hls_segment_filename", f"{folder}/segment_%05d.m4s",
    ]  # fmt: skip


def ffmpeg(*arguments: str | Path) -> None:
    program = [imageio_ffmpeg.get_ffmpeg_exe(), "-nostdin", "-v", "error", "-y"]
    said = subprocess.run([*program, *map(str, arguments)], capture_output=True, text=True)
    assert said.returncode == 0, f"ffmpeg could not make a version: {said.stderr}"
