"""An independent look at a version, with PyAV and m3u8 only: nothing here knows how the version was made.

Every segment is decoded by itself, after its init segment, as a player that seeks to it does. Times are those of
decoding: libav moves the times of showing by the most negative offset that it has met, which differs by segment.
"""

from dataclasses import dataclass
from fractions import Fraction
from io import BytesIO
from itertools import pairwise
from pathlib import Path
from typing import Any, cast

import av
import m3u8
import pytest

Sizes = dict[str, tuple[int, int]]


@dataclass(frozen=True)
class Checked:
    """What was found, for further questions."""

    frames: dict[str, int]  # decoded, by rendition
    boundaries: list[float]  # seconds at which the segments of every rendition begin
    seconds: float  # of picture
    sound_seconds: float  # 0 if there is none
    bandwidths: dict[str, int]
    codecs: dict[str, str]


@dataclass(frozen=True)
class Part:
    """One segment, decoded."""

    label: str
    stated: float  # its EXTINF
    size: int
    starts: list[float]  # when its packets are to be decoded, in seconds
    shown: list[float]  # when its frames are to be shown, on a clock of its own
    end: float
    frames: int
    codec: str


def check(
    where: Path | str,
    *,
    duration: float,
    frame_rate: Fraction | float,
    sizes: Sizes,
    audio: bool,
    frames: int | None = None,
    tolerance: float = 0.1,
) -> Checked:
    """Fails at the first fault. `frames` is exact; `tolerance` is in seconds, for the length of picture and sound."""
    folder = Path(where) if Path(where).is_dir() else Path(where).parent
    step = float(1 / Fraction(frame_rate))
    master = read_playlist(folder / "master.m3u8", folder)
    check_master(master, sizes, audio, step)
    tracks = {name: check_track(folder, name, step, size) for name, size in sizes.items()}
    sound = check_track(folder, "audio", 1024 / 48000, None) if audio else []
    counts = {name: sum(part.frames for part in parts) for name, parts in tracks.items()}
    check_lengths(counts, sound, frames, duration, step, tolerance)
    check_against_each_other(tracks, step)
    check_statements(folder, master, tracks, sound)
    check_thumbnail(folder / "thumbnail.jpg")
    first = next(iter(tracks.values()))
    return Checked(
        frames=counts,
        boundaries=[part.starts[0] - first[0].starts[0] for part in first],
        seconds=first[-1].end - first[0].starts[0],
        sound_seconds=sound[-1].end - sound[0].starts[0] if sound else 0.0,
        bandwidths={name_of(each.uri): each.stream_info.bandwidth for each in master.playlists},
        codecs={name_of(each.uri): each.stream_info.codecs for each in master.playlists},
    )


def read_playlist(path: Path, folder: Path) -> m3u8.M3U8:
    label = path.relative_to(folder)
    assert path.is_file(), f"{label} is missing"
    text = path.read_text()
    assert text.startswith("#EXTM3U"), f"{label} does not begin with #EXTM3U"
    playlist = m3u8.loads(text)
    assert playlist.version == 7, f"{label} states version {playlist.version}"
    return playlist


def check_master(master: m3u8.M3U8, sizes: Sizes, audio: bool, step: float) -> None:
    assert master.is_variant, "master.m3u8 is no master playlist"
    assert master.is_independent_segments, "master.m3u8 has no EXT-X-INDEPENDENT-SEGMENTS"
    assert {each.uri for each in master.playlists} == {f"{name}/playlist.m3u8" for name in sizes}, (
        f"master.m3u8 names {[each.uri for each in master.playlists]}, expected were {sorted(sizes)}"
    )
    rates = [each.stream_info.bandwidth for each in master.playlists]
    assert rates == sorted(rates), f"master.m3u8 is not sorted by bandwidth: {rates}"
    assert [each.uri for each in master.media] == (["audio/playlist.m3u8"] if audio else []), "the sound of master.m3u8"
    for each in master.playlists:
        name, info = name_of(each.uri), each.stream_info
        assert info.resolution == sizes[name], f"master.m3u8 states RESOLUTION {info.resolution} for {name}"
        assert info.frame_rate == pytest.approx(1 / step, abs=0.001), f"FRAME-RATE of {name} in master.m3u8"
        assert (info.audio is not None) == audio, f"AUDIO of {name} in master.m3u8"
        if audio:
            assert info.audio == master.media[0].group_id, f"AUDIO group of {name} in master.m3u8"


def name_of(uri: str) -> str:
    return uri.split("/")[0]


def check_track(folder: Path, name: str, step: float, size: tuple[int, int] | None) -> list[Part]:
    """One rendition: its playlist, and its segments one after the other."""
    label = f"{name}/playlist.m3u8"
    playlist = read_playlist(folder / label, folder)
    assert playlist.is_endlist, f"{label} has no EXT-X-ENDLIST"
    assert playlist.playlist_type == "vod", f"{label} is of the type {playlist.playlist_type}"
    assert len(playlist.segment_map) == 1, f"{label} names {len(playlist.segment_map)} init segments"
    assert playlist.segments, f"{label} names no segments"
    assert not any(each.discontinuity for each in playlist.segments), f"{label} has a discontinuity"
    longest = max(each.duration for each in playlist.segments)
    assert int(longest + 0.5) <= playlist.target_duration, f"{label} has {longest} s above its target duration"
    init = read_file(folder, name, playlist.segment_map[0].uri)
    parts = [decoded(folder, name, init, each, step, size) for each in playlist.segments]
    assert -0.25 < parts[0].starts[0] < 0.1, f"{name} begins at {parts[0].starts[0]} s"
    for before, after in pairwise(parts):
        gap = after.starts[0] - before.end
        assert abs(gap) < step / 2, f"{after.label} is {gap:.3f} s off the end of {before.label}"
    seconds, count = parts[-1].end - parts[0].starts[0], sum(len(part.starts) for part in parts)
    assert abs(seconds - count * step) < step, f"{name} takes {seconds:.3f} s for {count} packets of {step:.4f} s"
    return parts


def read_file(folder: Path, name: str, uri: str) -> bytes:
    assert uri == Path(uri).name, f"{name}/playlist.m3u8 names {uri}, which is not beside it"
    path = folder / name / uri
    assert path.is_file(), f"{name}/{uri} is missing"
    assert not path.is_symlink(), f"{name}/{uri} is a link"
    data = path.read_bytes()
    assert data, f"{name}/{uri} is empty"
    return data


def decoded(
    folder: Path, name: str, init: bytes, segment: m3u8.Segment, step: float, size: tuple[int, int] | None
) -> Part:
    label, data = f"{name}/{segment.uri}", read_file(folder, name, segment.uri)
    try:
        part = decode(label, init + data, segment.duration, len(data), size)
    except av.FFmpegError as error:
        raise AssertionError(f"{label} cannot be decoded: {error}") from error
    seconds = part.end - part.starts[0]
    assert abs(segment.duration - seconds) < 1.05 * step, f"{label}: EXTINF {segment.duration}, but {seconds:.3f} s"
    for before, after in [*pairwise(part.starts), *(pairwise(part.shown) if size else ())]:
        assert abs(after - before - step) < step / 2, f"{label} has a gap or an overlap at {before:.3f} s"
    return part


def decode(label: str, data: bytes, stated: float, length: int, size: tuple[int, int] | None) -> Part:
    times: list[float] = []
    shown: list[float] = []
    end = 0.0
    with av.open(BytesIO(data), "r", "mp4") as container:
        assert len(container.streams) == 1, f"{label} has {len(container.streams)} streams"
        stream = container.streams[0]
        assert stream.codec_context is not None, f"{label} is of no known codec"
        stream.codec_context.options = {"err_detect": "explode"}  # or damage is painted over
        codec = check_codec(label, stream.codec_context, size)
        for packet in container.demux(stream):
            if packet.dts is not None and packet.duration is not None:
                assert times or packet.is_keyframe, f"{label} does not begin with a keyframe"
                times.append(float(packet.dts * packet.time_base))
                end = float((packet.dts + packet.duration) * packet.time_base)
            for frame in cast(list[Any], packet.decode()):
                shown.append(float(frame.pts * frame.time_base))
                assert not frame.is_corrupt, f"{label} has a damaged frame"
                assert size is None or (frame.width, frame.height) == size, f"{label} has {frame.width}x{frame.height}"
    assert times, f"{label} has no packets"
    assert size is None or len(shown) == len(times), f"{label} has {len(times)} packets, but {len(shown)} frames"
    return Part(label, stated, length, times, shown, end, len(shown), codec)


def check_codec(label: str, context: Any, size: tuple[int, int] | None) -> str:
    if size is None:
        assert (context.name, context.profile) == ("aac", "LC"), f"{label} is {context.name} {context.profile}"
        assert (context.sample_rate, context.layout.name) == (48000, "stereo"), f"{label} is not 48 kHz stereo"
        return "mp4a.40.2"
    assert context.name == "h264", f"{label} is {context.name}"
    assert context.pix_fmt in ("yuv420p", "yuvj420p"), f"{label} is {context.pix_fmt}"
    return "avc1." + bytes(context.extradata)[1:4].hex()


def check_against_each_other(tracks: dict[str, list[Part]], step: float) -> None:
    (first, *others) = tracks.items()
    for name, parts in others:
        assert len(parts) == len(first[1]), f"{name} has {len(parts)} segments, {first[0]} has {len(first[1])}"
        for one, other in zip(parts, first[1], strict=True):
            gap = (one.starts[0] - parts[0].starts[0]) - (other.starts[0] - first[1][0].starts[0])
            assert abs(gap) < step / 2, f"{one.label} begins {gap:.3f} s off {other.label}"


def check_statements(folder: Path, master: m3u8.M3U8, tracks: dict[str, list[Part]], sound: list[Part]) -> None:
    for each in master.playlists:
        name, info = name_of(each.uri), each.stream_info
        parts = tracks[name]
        codecs = ",".join([parts[0].codec, *([sound[0].codec] if sound else [])])
        assert info.codecs == codecs, f"master.m3u8 states CODECS {info.codecs} for {name}, found is {codecs}"
        peak = peak_of(folder, name, parts) + (peak_of(folder, "audio", sound) if sound else 0)
        assert info.bandwidth == pytest.approx(peak, rel=0.1), f"BANDWIDTH of {name}: {info.bandwidth}, not {peak}"
        average = average_of(parts) + (average_of(sound) if sound else 0)
        stated = info.average_bandwidth
        assert stated == pytest.approx(average, rel=0.1), f"AVERAGE-BANDWIDTH of {name}: {stated}, not {average}"


def check_thumbnail(path: Path) -> None:
    assert path.is_file(), f"{path.name} is missing"
    assert path.read_bytes().startswith(b"\xff\xd8\xff"), f"{path.name} is not a JPEG"
    try:
        with av.open(str(path), "r", "jpeg_pipe") as container:
            assert next(container.decode(video=0)).width > 0
    except (av.FFmpegError, StopIteration) as error:
        raise AssertionError(f"{path.name} cannot be decoded: {error!r}") from error


def average_of(parts: list[Part]) -> float:
    return 8 * sum(part.size for part in parts) / sum(part.stated for part in parts)


def peak_of(folder: Path, name: str, parts: list[Part]) -> float:
    """Of all runs of segments that last half a target duration to one and a half (RFC 8216)."""
    target = read_playlist(folder / name / "playlist.m3u8", folder).target_duration
    runs = [parts[start:end] for start in range(len(parts)) for end in range(start + 1, len(parts) + 1)]
    fitting = [run for run in runs if target / 2 <= sum(part.stated for part in run) <= target * 1.5]
    return max((average_of(run) for run in fitting), default=average_of(parts))


def check_lengths(
    counts: dict[str, int], sound: list[Part], frames: int | None, duration: float, step: float, tolerance: float
) -> None:
    assert len(set(counts.values())) == 1, f"the renditions differ in frames: {counts}"
    count = next(iter(counts.values()))
    assert frames is None or count == frames, f"there are {count} frames instead of {frames}"
    assert abs(count * step - duration) <= tolerance, (
        f"{count} frames last {count * step:.3f} s instead of {duration} s"
    )
    if sound:
        seconds = sound[-1].end - sound[0].starts[0]
        assert abs(seconds - duration) <= tolerance, f"the sound lasts {seconds:.3f} s instead of {duration} s"
