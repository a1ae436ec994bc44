"""Which files of a version are served, and as what. Every other name does not exist for visitors."""

import re

from jobs.videos.transcoding.manifest import AUDIO, INIT, MASTER, PLAYLIST, THUMBNAIL

# Fragments are plain MP4 by name, too: Chromium and Safari play them as such, and every proxy knows the type.
HLS, JPEG, MP4_VIDEO, MP4_AUDIO = "application/vnd.apple.mpegurl", "image/jpeg", "video/mp4", "audio/mp4"
AT_THE_TOP = {MASTER: HLS, THUMBNAIL: JPEG}
RENDITION = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,49}")
SEGMENT = re.compile(r"segment_[0-9]{5,9}\.m4s")


def content_type(path: str) -> str | None:
    """The type of the file at this place in a version; None where a version has no such file."""
    folder, slash, name = path.rpartition("/")
    if not slash:
        return AT_THE_TOP.get(name)
    if not RENDITION.fullmatch(folder):
        return None
    if name == PLAYLIST:
        return HLS
    if name == INIT or SEGMENT.fullmatch(name):
        return MP4_AUDIO if folder == AUDIO else MP4_VIDEO
    return None
