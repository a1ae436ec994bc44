"""Is in the files what the manifest says, and can all of it be decoded?"""

from collections.abc import Iterator
from pathlib import Path

from jobs.videos.transcoding.manifest import Rendition
from jobs.videos.transcoding.validation.streams import Unreadable, decode, look_into
from jobs.videos.transcoding.validation.tracks import PICTURE, SOUND, Track

PIXELS = {"yuv420p", "yuvj420p"}  # what players show


def picture_content_problems(version: Path, track: Track, rendition: Rendition) -> Iterator[str]:
    label = f"{track.name}/{track.media.init}"
    if track.init.handler != PICTURE:
        yield f"{label} is no track of pictures, but of the kind {track.init.handler!r}."
    try:
        found = look_into(_first_two(version, track))
    except Unreadable as error:
        yield f"{label}: {error}"
        return
    if found.codec != "h264":
        yield f"{label} is of {found.codec} instead of h264."
    if (found.width, found.height) != (rendition.width, rendition.height):
        wanted = f"{rendition.width}x{rendition.height}"
        yield f"{label} has pictures of {found.width}x{found.height} instead of {wanted}."
    if found.pixels not in PIXELS:
        yield f"{label} has pixels of {found.pixels or 'no known form'}, which players do not show."


def sound_content_problems(version: Path, track: Track) -> Iterator[str]:
    label = f"{track.name}/{track.media.init}"
    if track.init.handler != SOUND:
        yield f"{label} is no track of sound, but of the kind {track.init.handler!r}."
    try:
        found = look_into(_first_two(version, track))
    except Unreadable as error:
        yield f"{label}: {error}"
        return
    if (found.codec, found.profile) != ("aac", "LC"):
        yield f"{label} is of {found.codec} {found.profile} instead of aac LC."


def decode_problems(version: Path, track: Track) -> Iterator[str]:
    """Each segment by itself, as a player that seeks to it decodes it."""
    folder = version / track.name
    for segment, timed in zip(track.media.segments, track.segments, strict=True):
        try:
            frames = decode([folder / track.media.init, folder / segment.name])
        except Unreadable as error:
            yield f"{timed.label} cannot be decoded. {error}"
            continue
        if track.init.handler == PICTURE and frames != timed.count:
            yield f"{timed.label} has {timed.count} frames, of which {frames} can be decoded."


def _first_two(version: Path, track: Track) -> list[Path]:
    folder = version / track.name
    return [folder / track.media.init, folder / track.media.segments[0].name]
