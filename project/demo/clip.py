"""A clip of a few seconds, moving picture and sound, as a user's camera would bring it."""

import subprocess
from pathlib import Path
from uuid import uuid4

from django.core.management.base import CommandError

from jobs.handlers.ffmpeg import find_ffmpeg

SECONDS = 6


def make_clip(folder: Path) -> Path:
    """A new one each time: the same content again would be met as a duplicate, and nothing would be transcoded."""
    ffmpeg, clip = find_ffmpeg(), folder / "demo clip.mp4"
    if ffmpeg is None:
        raise CommandError("There is no ffmpeg: install it, or the package imageio-ffmpeg (make setup does).")
    picture = f"testsrc2=size=1280x720:rate=30:duration={SECONDS}"
    sound = f"sine=frequency=330:beep_factor=4:duration={SECONDS}"
    argv = [ffmpeg, "-nostdin", "-v", "error", "-f", "lavfi", "-i", picture, "-f", "lavfi", "-i", sound]
    argv += ["-c:v", "libx264", "-preset", "ultrafast", "-pix_fmt", "yuv420p", "-c:a", "aac", "-ac", "2"]
    argv += ["-metadata", f"comment={uuid4()}", str(clip)]
    made = subprocess.run(argv, capture_output=True, text=True, check=False)  # noqa: S603  no word of it is a user's
    if made.returncode:
        raise CommandError(f"ffmpeg could not make the clip: {made.stderr.strip()}")
    return clip
