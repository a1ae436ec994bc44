"""Where ffmpeg is, and which hardware it can encode with. A GPU counts when something was encoded with it."""

import shutil
import subprocess
from functools import cache

from jobs.conf import conf

HARDWARE_ENCODERS = ("h264_nvenc", "h264_qsv", "h264_vaapi")
VAAPI = ("-vaapi_device", "/dev/dri/renderD128")
TRIAL_SECONDS = 20


def find_ffmpeg() -> str | None:
    """JOBS_FFMPEG, else the one on the PATH, else that of the package imageio-ffmpeg."""
    if conf.FFMPEG:
        return shutil.which(conf.FFMPEG)
    return shutil.which("ffmpeg") or packaged_ffmpeg()


@cache
def packaged_ffmpeg() -> str | None:
    try:
        from imageio_ffmpeg import get_ffmpeg_exe
    except ImportError:
        return None
    try:
        return str(get_ffmpeg_exe())
    except RuntimeError:  # none for this system
        return None


@cache
def ffmpeg_version(ffmpeg: str) -> str:
    said = run(ffmpeg, "-version")
    return said.stdout.split("\n", 1)[0] if said else ""


def working_encoders() -> list[str]:
    """The hardware encoders that encode a picture here: that one is built in says nothing about the card."""
    ffmpeg = find_ffmpeg()
    if ffmpeg is None:
        return []
    return [encoder for encoder in built_in(ffmpeg) if encodes(ffmpeg, encoder)]


def built_in(ffmpeg: str) -> list[str]:
    listed = run(ffmpeg, "-hide_banner", "-encoders")
    return [encoder for encoder in HARDWARE_ENCODERS if listed and f" {encoder} " in listed.stdout]


def encodes(ffmpeg: str, encoder: str) -> bool:
    device, upload = (VAAPI, ("-vf", "format=nv12,hwupload")) if encoder.endswith("_vaapi") else ((), ())
    picture = ("-f", "lavfi", "-i", "testsrc=size=256x256:rate=25", "-t", "1")
    tried = run(ffmpeg, "-hide_banner", "-v", "error", *device, *picture, *upload, "-c:v", encoder, "-f", "null", "-")
    return tried is not None and tried.returncode == 0


def run(*argv: str) -> "subprocess.CompletedProcess[str] | None":
    try:
        return subprocess.run(  # noqa: S603  no word of it comes from outside
            argv, capture_output=True, text=True, check=False, timeout=TRIAL_SECONDS, stdin=subprocess.DEVNULL
        )
    except (OSError, subprocess.TimeoutExpired):
        return None  # an encoder that hangs or cannot be started does not work
