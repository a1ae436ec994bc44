"""The check of a version before it is published: what is wrong with it, in sentences that name the file."""

from collections.abc import Iterator
from pathlib import Path

from jobs.videos.transcoding.errors import InvalidOutput
from jobs.videos.transcoding.manifest import AUDIO, FILE, Manifest
from jobs.videos.transcoding.validation.content import (
    decode_problems,
    picture_content_problems,
    sound_content_problems,
)
from jobs.videos.transcoding.validation.files import foreign_problems, stray_problems, thumbnail_problems
from jobs.videos.transcoding.validation.master import master_problems
from jobs.videos.transcoding.validation.playlists import PLAIN
from jobs.videos.transcoding.validation.timing import boundary_problems, picture_problems, sound_problems
from jobs.videos.transcoding.validation.tracks import Track, read_track

SHOWN = 3  # problems in the text of an error


def require_valid(folder: Path, thorough: bool = False) -> None:
    """Raises InvalidOutput with the first problems, if there are any."""
    problems = problems_of(folder, thorough)
    if problems:
        more = f" And {len(problems) - SHOWN} more." if len(problems) > SHOWN else ""
        raise InvalidOutput(problems=" ".join(problems[:SHOWN]) + more)


def problems_of(folder: Path, thorough: bool = False) -> list[str]:
    """What is wrong with a version; nothing if it can be published. `thorough` also decodes all of it."""
    try:
        manifest = Manifest.read(folder)
        _require_sense(manifest)
    except (OSError, ValueError, TypeError, KeyError, ArithmeticError, AttributeError) as error:
        return [f"{FILE} cannot be used: {type(error).__name__}: {error}."]
    return list(dict.fromkeys(_problems(folder, manifest, thorough)))


def _require_sense(manifest: Manifest) -> None:
    if not manifest.renditions or not min(float(manifest.frame_rate), manifest.frames, manifest.segment_frames) > 0:
        raise ValueError("it asks for nothing")
    for rendition in manifest.renditions:
        if not PLAIN.fullmatch(rendition.name) or set(rendition.name) & {"/"} or rendition.name in (AUDIO, ".", ".."):
            raise ValueError(f"{rendition.name!r} is no name of a rendition")


def _problems(folder: Path, manifest: Manifest, thorough: bool) -> Iterator[str]:
    tracks: dict[str, Track] = {}
    for name in manifest.folders:
        track, problems = read_track(folder, name)
        yield from problems
        if track is not None:
            tracks[name] = track
            yield from _track_problems(folder, track, manifest)
            yield from decode_problems(folder, track) if thorough else ()
    yield from boundary_problems([track for track in tracks.values() if track.name != AUDIO], manifest)
    yield from master_problems(folder, manifest, tracks)
    yield from thumbnail_problems(folder)
    yield from foreign_problems(folder, manifest)


def _track_problems(folder: Path, track: Track, manifest: Manifest) -> Iterator[str]:
    if track.name == AUDIO:
        yield from sound_content_problems(folder, track)
        yield from sound_problems(track, manifest)
    else:
        rendition = next(each for each in manifest.renditions if each.name == track.name)
        yield from picture_content_problems(folder, track, rendition)
        yield from picture_problems(track, manifest)
    yield from stray_problems(folder, track.name, track.named())
