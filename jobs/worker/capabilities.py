"""What this machine can do, told when a worker registers. A GPU counts when something was encoded with it."""

import os
import shutil
import subprocess
from typing import Any

from jobs.worker.options import cpu_count

HARDWARE_ENCODERS = ("h264_nvenc", "h264_qsv", "h264_vaapi", "h264_videotoolbox", "h264_amf")
VAAPI = ("-vaapi_device", "/dev/dri/renderD128")
TRIAL_SECONDS = 20


def capabilities(gpu: str = "auto") -> dict[str, Any]:
    """`gpu` on or off is an operator's word; auto asks the machine."""
    encoders = working_encoders() if gpu != "off" else []
    return {
        "cpus": cpu_count(),
        "memory_mib": memory_mib(),
        "gpu": gpu == "on" or bool(encoders),
        "encoders": encoders,
    }


def memory_mib() -> int:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2**20


def working_encoders() -> list[str]:
    """The hardware encoders of ffmpeg that encode a picture here: that one is built in says nothing about the card."""
    ffmpeg = shutil.which("ffmpeg")
    if ffmpeg is None:
        return []
    return [encoder for encoder in built_in(ffmpeg) if encodes(ffmpeg, encoder)]


def built_in(ffmpeg: str) -> list[str]:
    listed = run(ffmpeg, "-hide_banner", "-encoders")
    return [encoder for encoder in HARDWARE_ENCODERS if listed and f" {encoder} " in listed.stdout]


def encodes(ffmpeg: str, encoder: str) -> bool:
    device, upload = (VAAPI, ("-vf", "format=nv12,hwupload")) if encoder.endswith("_vaapi") else ((), ())
    picture = ("-f", "lavfi", "-i", "testsrc=size=256x256:rate=1", "-frames:v", "1")
    tried = run(ffmpeg, "-hide_banner", "-v", "error", *device, *picture, *upload, "-c:v", encoder, "-f", "null", "-")
    return tried is not None and tried.returncode == 0


def run(*argv: str) -> "subprocess.CompletedProcess[str] | None":
    try:
        return subprocess.run(  # noqa: S603  no word of it comes from outside
            argv, capture_output=True, text=True, check=False, timeout=TRIAL_SECONDS, stdin=subprocess.DEVNULL
        )
    except (OSError, subprocess.TimeoutExpired):
        return None  # an encoder that hangs or cannot be started does not work
