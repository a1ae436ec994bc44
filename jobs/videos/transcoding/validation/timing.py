"""Do the samples of each track follow each other as they should, and do the tracks fit together?"""

from collections.abc import Iterator
from itertools import pairwise

from jobs.videos.transcoding.manifest import PLAYLIST, Manifest
from jobs.videos.transcoding.validation.tracks import TimedSegment, Track

LATEST_START = 0.1  # seconds that a track may begin before or after zero: more of it is heard as sound out of step
AAC_SAMPLES = 1024  # in a packet of AAC-LC


def picture_problems(track: Track, manifest: Manifest) -> Iterator[str]:
    """Every frame counts: encoders are told a constant rate, so one that is missing was lost."""
    step = float(1 / manifest.frame_rate)
    yield from common_problems(track, step, manifest)
    for segment in track.segments:
        if not segment.begins_with_key:
            yield f"{segment.label} does not begin with a keyframe."
    yield from count_problems(track, manifest)
    seconds, wanted = track.segments[-1].last + step - track.segments[0].first, track.count * step
    if abs(seconds - wanted) > step:
        yield f"{track.name} shows {track.count} frames in {seconds:.3f} s; at their frame rate it is {wanted:.3f} s."


def sound_problems(track: Track, manifest: Manifest) -> Iterator[str]:
    step = AAC_SAMPLES / track.init.timescale
    yield from common_problems(track, step, manifest)
    seconds = track.segments[-1].last + step - track.segments[0].first
    if abs(seconds - manifest.duration) > manifest.segment_seconds:
        yield f"{track.name} has {seconds:.3f} s of sound for {manifest.duration:.3f} s of source."


def common_problems(track: Track, step: float, manifest: Manifest) -> Iterator[str]:
    if abs(track.media.seconds - manifest.duration) > manifest.segment_seconds:
        yield f"{track.name}/{PLAYLIST} lasts {track.media.seconds:.3f} s, the source {manifest.duration:.3f} s."
    if abs(track.segments[0].first) > LATEST_START:
        yield f"{track.segments[0].label} begins at {track.segments[0].first:.3f} s instead of zero."
    for segment in track.segments:
        yield from inner_problems(segment, step)
    for before, segment in pairwise(track.segments):
        gap = segment.first - before.last - step
        if abs(gap) > step / 2:
            what = "after" if gap > 0 else "before"
            yield f"{segment.label} begins {abs(gap):.3f} s {what} the end of the segment that it follows."


def inner_problems(segment: TimedSegment, step: float) -> Iterator[str]:
    if segment.widest > 1.5 * step:
        yield f"{segment.label} has a gap of {segment.widest - step:.3f} s inside."
    if segment.count > 1 and segment.narrowest < 0.5 * step:
        yield f"{segment.label} has samples that overlap."
    seconds = segment.last + step - segment.first
    if abs(segment.stated - seconds) > 1.05 * step:  # the last packet of sound is often a short one
        yield f"{segment.label} lasts {seconds:.3f} s, but its playlist says {segment.stated:.3f} s."


def count_problems(track: Track, manifest: Manifest) -> Iterator[str]:
    if track.count != manifest.frames:
        yield f"{track.name} has {track.count} frames, but the manifest says {manifest.frames}."
    for segment in track.segments[:-1]:
        if segment.count != manifest.segment_frames:
            yield f"{segment.label} has {segment.count} frames instead of {manifest.segment_frames}."
    if track.segments[-1].count > manifest.segment_frames:
        yield f"{track.segments[-1].label} has more than {manifest.segment_frames} frames."


def boundary_problems(tracks: list[Track], manifest: Manifest) -> Iterator[str]:
    """Players change the quality at boundaries: where they differ, pictures are skipped or shown twice."""
    half = float(1 / manifest.frame_rate) / 2
    for track in tracks[1:]:
        first = tracks[0]
        if len(track.segments) != len(first.segments):
            yield f"{track.name} has {len(track.segments)} segments, but {first.name} has {len(first.segments)}."
        for one, other in zip(track.segments, first.segments, strict=False):
            if abs(one.first - other.first) > half:
                yield f"{one.label} begins at {one.first:.3f} s, but {other.label} at {other.first:.3f} s."
                break  # all that follow are off, too
