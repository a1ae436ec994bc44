"""Everything that can be wrong with a version, done to a good one: what is damaged, and what must be said about it."""

import json
import re
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from jobs.videos.transcoding.master_playlist import write_master
from tests.videos.versions import SIZES, make_picture, make_sound

SEGMENT = "180p/segment_00001.m4s"


@dataclass(frozen=True)
class Damage:
    name: str
    do: Callable[[Path], object]
    problem: str  # a pattern of what is said before publishing
    seen: str | None  # a pattern of what the independent checker says; None: it does not look there


def replace(file: str, old: str, new: str, count: int = 1) -> Callable[[Path], object]:
    """Damage to a text file: what the pattern finds becomes something else."""

    def do(version: Path) -> None:
        text = (version / file).read_text()
        changed = re.sub(old, new, text, count=count)
        assert changed != text, f"{old} is not in {file}"
        (version / file).write_text(changed)

    return do


def write(file: str, data: bytes) -> Callable[[Path], object]:
    return lambda version: (version / file).write_bytes(data)


def remove(file: str) -> Callable[[Path], object]:
    return lambda version: (version / file).unlink()


def change_bytes(file: str, change: Callable[[bytes], bytes]) -> Callable[[Path], object]:
    return lambda version: (version / file).write_bytes(change((version / file).read_bytes()))


def change_manifest(**changes: object) -> Callable[[Path], object]:
    def do(version: Path) -> None:
        path = version / "manifest.json"
        path.write_text(json.dumps(json.loads(path.read_text()) | changes))

    return do


def all_of(*damages: Callable[[Path], object]) -> Callable[[Path], object]:
    def do(version: Path) -> None:
        for damage in damages:
            damage(version)

    return do


def remake(*options: str, **how: object) -> Callable[[Path], object]:
    """The larger quality encoded otherwise, with a master playlist that fits."""

    def do(version: Path) -> None:
        make_picture(version / "180p", SIZES["180p"], *options, **how)  # type: ignore[arg-type]
        write_master(version)

    return do


def remake_sound(*options: str, **how: object) -> Callable[[Path], object]:
    def do(version: Path) -> None:
        make_sound(version / "audio", *options, **how)  # type: ignore[arg-type]
        write_master(version)

    return do


def drop(folder: str, *numbers: int) -> Callable[[Path], object]:
    """Segments that are neither in the playlist nor on the disk."""
    names = [f"segment_{number:05}.m4s" for number in numbers]
    return all_of(
        *(replace(f"{folder}/playlist.m3u8", rf"#EXTINF:[\d.]+,\n{name}\n", "") for name in names),
        *(remove(f"{folder}/{name}") for name in names),
    )


def restart_clock(data: bytes) -> bytes:
    """As `-ss` with `-start_number` leaves it: the segment's decode time is zero again."""
    at = data.index(b"tfdt") + 8
    return data[:at] + bytes(8) + data[at + 8 :]


def zeros_inside(data: bytes) -> bytes:
    """A block that never reached the disk."""
    middle = len(data) // 2
    return data[:middle] + bytes(2000) + data[middle + 2000 :]


def flipped(data: bytes) -> bytes:
    """Noise inside the data of a picture: only a decoder can tell."""
    start = data.index(b"mdat") + 1500
    return data[:start] + bytes(byte ^ 0xA5 for byte in data[start : start + 200]) + data[start + 200 :]


def link_outside(version: Path) -> None:
    outside = version.parent / "outside.m4s"
    shutil.move(version / SEGMENT, outside)
    (version / SEGMENT).symlink_to(outside)


def name_instead(uri: str) -> Callable[[Path], object]:
    return replace("180p/playlist.m3u8", r"segment_00001\.m4s", uri)


def double(version: Path) -> None:
    """The master playlist names a rendition that nobody asked for, and its folder is there."""
    shutil.copytree(version / "180p", version / "extra")
    path = version / "master.m3u8"
    line = next(line for line in path.read_text().splitlines() if "320x180" in line)
    path.write_text(f"{path.read_text()}{line}\nextra/playlist.m3u8\n")


FILES = [
    Damage("empty segment", write(SEGMENT, b""), f"{SEGMENT} is empty", f"{SEGMENT} is empty"),
    Damage("missing segment", remove(SEGMENT), f"{SEGMENT} is missing", f"{SEGMENT} is missing"),
    Damage("truncated segment", change_bytes(SEGMENT, lambda data: data[: len(data) // 2]),
           f"{SEGMENT} cannot be used.*'mdat' at .* are left", SEGMENT),
    Damage("segment without data", change_bytes(SEGMENT, lambda data: data[: data.index(b"mdat") - 4]),
           f"{SEGMENT} has no mdat", SEGMENT),
    Damage("segment of garbage", write(SEGMENT, b"garbage" * 99), f"{SEGMENT} cannot be used", SEGMENT),
    Damage("zeros in a segment", change_bytes(SEGMENT, zeros_inside),
           f"{SEGMENT} cannot be used.*picture data at .* garbage", f"{SEGMENT} cannot be decoded"),
    Damage("garbage init", write("180p/init.mp4", b"\x00\x00\x00\x10moov" + b"x" * 99),
           "180p/init.mp4 cannot be used", "180p"),
    Damage("missing init", remove("180p/init.mp4"), "180p/init.mp4 is missing", "180p/init.mp4 is missing"),
    Damage("init of another name",
           all_of(lambda version: (version / "180p/init.mp4").rename(version / "180p/head.mp4"),
                  replace("180p/playlist.m3u8", "init.mp4", "head.mp4")),
           "180p/playlist.m3u8 names head.mp4 as init segment", None),
    Damage("init of sound", lambda version: shutil.copy(version / "audio/init.mp4", version / "180p/init.mp4"),
           "180p/init.mp4 .* instead of h264", "180p/.*"),
    Damage("missing sound", lambda version: shutil.rmtree(version / "audio"),
           "audio/playlist.m3u8 is no playlist: it is missing", "audio/playlist.m3u8 is missing"),
    Damage("segment outside, by a link", link_outside, "segment_00001.m4s'.* leads out of the folder", "is a link"),
    Damage("segment that nobody names", lambda version: shutil.copy(version / SEGMENT, version / "180p/segment_9.m4s"),
           "180p/segment_9.m4s is named by no playlist", None),
    Damage("foreign folder", lambda version: (version / "720p").mkdir(), "720p/ is no rendition", None),
    Damage("no thumbnail", remove("thumbnail.jpg"), "thumbnail.jpg is missing", "thumbnail.jpg"),
    Damage("thumbnail not a JPEG", write("thumbnail.jpg", b"<html>"), "thumbnail.jpg is not a JPEG", "thumbnail.jpg"),
    Damage("thumbnail of nothing", write("thumbnail.jpg", b"\xff\xd8\xff\xe0" + bytes(50)),
           "thumbnail.jpg cannot be decoded", "thumbnail.jpg cannot be decoded"),
]  # fmt: skip

PLAYLISTS = [
    Damage("empty playlist", write("180p/playlist.m3u8", b""), "180p/playlist.m3u8 is no playlist: it is empty",
           "180p/playlist.m3u8 does not begin"),
    Damage("playlist of bytes", write("180p/playlist.m3u8", b"#EXTM3U\n\xff\xfe"), "180p/playlist.m3u8 is no playlist",
           None),
    Damage("stray line", replace("180p/playlist.m3u8", "#EXT-X-ENDLIST", "garbage\n#EXT-X-ENDLIST"),
           "180p/playlist.m3u8 is no playlist: .*garbage", None),
    Damage("no segments", replace("180p/playlist.m3u8", r"#EXTINF:.*\n.*\n", "", 0),
           "180p/playlist.m3u8 names no segments", "180p/playlist.m3u8 names no segments"),
    Damage("no ENDLIST", replace("180p/playlist.m3u8", "#EXT-X-ENDLIST\n", ""),
           "180p/playlist.m3u8 has no EXT-X-ENDLIST", "180p/playlist.m3u8 has no EXT-X-ENDLIST"),
    Damage("live playlist", replace("180p/playlist.m3u8", "VOD", "EVENT"),
           "180p/playlist.m3u8 .* type VOD", "type event"),
    Damage("old version", replace("180p/playlist.m3u8", "VERSION:7", "VERSION:6"), "180p/playlist.m3u8 .*VERSION 6",
           "180p/playlist.m3u8 states version 6"),
    Damage("discontinuity", replace("180p/playlist.m3u8",
           r"#EXTINF(?=.*\nsegment_00001)", "#EXT-X-DISCONTINUITY\n#EXTINF"),
           "180p/playlist.m3u8 has an EXT-X-DISCONTINUITY before segment_00001", "180p/playlist.m3u8 has a disc"),
    Damage("two inits", replace("180p/playlist.m3u8",
           r"#EXTINF(?=.*\nsegment_00001)", '#EXT-X-MAP:URI="init.mp4"\n#EXTINF'),
           "180p/playlist.m3u8 names 2 init segments", "names 2 init segments"),
    Damage("no init", replace("180p/playlist.m3u8", "#EXT-X-MAP.*\n", ""), "180p/playlist.m3u8 names no init",
           "names 0 init segments"),
    Damage("target duration too short", replace("180p/playlist.m3u8", "DURATION:1", "DURATION:0"),
           "180p/playlist.m3u8: segment_00000.m4s lasts 1.001 s, the target duration is 0 s", "target duration"),
    Damage("no target duration", replace("180p/playlist.m3u8", "#EXT-X-TARGETDURATION.*\n", ""),
           "180p/playlist.m3u8 has no EXT-X-TARGETDURATION", None),
    Damage("path out of the folder", name_instead("../90p/segment_00001.m4s"),
           "180p/playlist.m3u8 names '../90p/.*leads out", "which is not beside it"),
    Damage("hidden path out of the folder", name_instead("%2e%2e/90p/segment_00001.m4s"),
           "180p/playlist.m3u8 names .*leads out", "which is not beside it"),
    Damage("absolute path", name_instead("/etc/hostname"), "'/etc/hostname', which is an absolute", "not beside it"),
    Damage("URL", name_instead("https://example.org/a.m4s"),
           "'https://example.org/a.m4s', which is a URL", "not beside it"),
    Damage("URL without scheme", name_instead("//example.org/a.m4s"), "which is a URL", "not beside it"),
    Damage("odd name", name_instead("segment 1?.m4s"), "which is no plain name", "is missing"),
]  # fmt: skip

TIMES = [
    Damage("partial playlist with ENDLIST", drop("180p", 2, 3),
           "180p has 60 frames, but the manifest says 100", "differ in frames"),
    Damage("all partial, with ENDLIST", all_of(*(drop(name, 2, 3) for name in (*SIZES, "audio"))),
           "180p/playlist.m3u8 lasts 2.002 s, the source 3.337 s", "60 frames"),
    Damage("gap", drop("180p", 1),
           "180p/segment_00002.m4s begins 1.001 s after", "180p/segment_00002.m4s is 1.001 s off"),
    Damage("gap in the sound", drop("audio", 1), "audio/segment_00002.m4s begins 1.0.* s after", "audio/segment_00002"),
    Damage("restarted clock", change_bytes(SEGMENT, restart_clock), f"{SEGMENT} begins 1.001 s before", SEGMENT),
    Damage("segment twice", name_instead("segment_00000.m4s"), "180p/segment_00000.m4s begins 1.001 s before",
           "180p/segment_00000.m4s is -1.001 s off"),
    Damage("no keyframe first", remake("-hls_flags", "split_by_time", group=90),
           f"{SEGMENT} does not begin with a keyframe", f"{SEGMENT} does not begin with a keyframe"),
    Damage("open groups", remake("-x264-params", "open_gop=1:bframes=3:b-adapt=0"),
           f"{SEGMENT} does not begin with a keyframe", SEGMENT),
    Damage("other boundaries", all_of(remake(segment_frames=25), change_manifest(segment_frames=25)),
           f"{SEGMENT.replace('180p', '90p')} begins at 1.001 s, but {SEGMENT} at 0.834 s", "begins .* off 180p/segm"),
    Damage("other segments than planned", remake(segment_frames=25),
           f"{SEGMENT} has 25 frames instead of 30", "begins .* off"),
    Damage("fewer frames", remake(frames=99), "180p has 99 frames, but the manifest says 100", "differ in frames"),
    Damage("a frame left out", remake("-vf", "select=not(eq(n\\,40))", "-fps_mode", "passthrough"),
           f"{SEGMENT} has a gap of 0.033 s inside", f"{SEGMENT} has a gap or an overlap"),
    Damage("a frame too early", remake("-vf", "settb=1/90000,setpts=PTS-2400*eq(N\\,40)", "-fps_mode", "passthrough",
                                       "-enc_time_base", "1:90000"),
           f"{SEGMENT} has samples that overlap", f"{SEGMENT} has a gap or an overlap"),
    Damage("a last segment that is too long", remake(segment_frames=60), f"{SEGMENT} has more than 30 frames", "has 2"),
    Damage("fewer segments", drop("180p", 2, 3), "90p has 4 segments, but 180p has 2", "differ in frames"),
    Damage("wrong count in the manifest", change_manifest(frames=101), "180p has 100 frames, .* says 101", None),
    Damage("other length than the source", change_manifest(duration=20.0),
           "180p/playlist.m3u8 lasts 3.337 s, .* 20.000", None),
    Damage("wrong EXTINF", replace("180p/playlist.m3u8", r"1\.001", "1.090", 1),
           "180p/segment_00000.m4s lasts 1.001 s, but its playlist says 1.090", "180p/segment_00000.m4s: EXTINF 1.09"),
    Damage("late start", remake("-output_ts_offset",
           "0.5", edits=()), "180p/segment_00000.m4s begins at 0.5.* instead of zero",
           "180p begins at 0.4"),
    Damage("other frame rate", remake("-vf", "setpts=1.2*PTS", "-r", "25", segment_frames=30, frames=100),
           "180p shows 100 frames in 3.993 s", "180p takes 4.000 s for 100 packets"),
    Damage("short sound", remake_sound(seconds=1.5), "audio has 1.5.* s of sound for 3.337 s", "the sound lasts"),
]  # fmt: skip

CONTENT = [
    Damage("wrong size", remake("-vf", "scale=300:170"),
           "180p/init.mp4 has pictures of 300x170 instead of 320x180", "300x170"),
    Damage("pixels that few players show", remake("-pix_fmt", "yuv444p"),
           "180p/init.mp4 has pixels of yuv444p", "yuv444p"),
    Damage("pictures of no known codec", change_bytes("180p/init.mp4", lambda data: data.replace(b"avc1", b"zzzz")),
           "180p/init.mp4: libav cannot read it", "180p/segment_00000.m4s"),
    Damage("pictures without their codec", change_bytes("180p/init.mp4", lambda data: data.replace(b"avcC", b"zzzz")),
           "180p/init.mp4 cannot be used. .* no avcC", "180p/segment_00000.m4s"),
    Damage("sound of no known codec",
           change_bytes("audio/init.mp4", lambda data: data.replace(b"soun", b"meta").replace(b"mp4a", b"mett")),
           "audio/init.mp4: libav cannot read it", "audio/segment_00000.m4s"),
    Damage("pictures that say they are none",
           change_bytes("180p/init.mp4", lambda data: data.replace(b"vide", b"meta")),
           "180p/init.mp4 is no track of pictures, but of the kind 'meta'", None),
    Damage("sound that says it is none", change_bytes("audio/init.mp4", lambda data: data.replace(b"soun", b"meta")),
           "audio/init.mp4 is no track of sound, but of the kind 'meta'", None),
    Damage("sound of another codec", remake_sound("-c:a", "ac3"), "audio/init.mp4 is of ac3", "ac3"),
    Damage("no manifest", remove("manifest.json"), "manifest.json cannot be used", None),
    Damage("manifest of garbage", write("manifest.json", b"{"), "manifest.json cannot be used", None),
    Damage("manifest without renditions", change_manifest(renditions=[]), "manifest.json cannot be used", None),
    Damage("manifest of another place",
           change_manifest(renditions=[{"name": "..", "width": 1, "height": 1, "encoder": "x", "maxrate": 1}]),
           r"manifest.json cannot be used: .*'\.\.'", None),
]  # fmt: skip

MASTER = [
    Damage("no master", remove("master.m3u8"), "master.m3u8 is no playlist: it is missing", "master.m3u8 is missing"),
    Damage("wrong bandwidth", replace("master.m3u8", r":BANDWIDTH=(\d)", r":BANDWIDTH=1"),
           "master.m3u8 states BANDWIDTH .* for 90p", "BANDWIDTH of 90p"),
    Damage("wrong average", replace("master.m3u8", r"AVERAGE-BANDWIDTH=\d+", r"AVERAGE-BANDWIDTH=1000"),
           "master.m3u8 states AVERAGE-BANDWIDTH 1000 for 90p", "AVERAGE-BANDWIDTH of 90p"),
    Damage("wrong codecs", replace("master.m3u8", r"avc1\.\w+", "avc1.64ffff"),
           "master.m3u8 states CODECS 'avc1.64ffff,mp4a.40.2' for 90p", "CODECS avc1.64ffff"),
    Damage("codecs without sound", replace("master.m3u8", ",mp4a.40.2", ""),
           "master.m3u8 states CODECS .* for 90p", "CODECS"),
    Damage("wrong resolution", replace("master.m3u8", "160x90", "160x92"), "RESOLUTION 160x92 for 90p", "RESOLUTION"),
    Damage("no resolution", replace("master.m3u8", "RESOLUTION=160x90,", ""), "RESOLUTION none for 90p", "RESOLUTION"),
    Damage("wrong frame rate", replace("master.m3u8", "29.970", "30.000"),
           "FRAME-RATE 30.0 for 90p", "FRAME-RATE of 90p"),
    Damage("not independent", replace("master.m3u8", "#EXT-X-INDEPENDENT-SEGMENTS\n",
           ""), "master.m3u8 has no EXT-X-INDEP",
           "master.m3u8 has no EXT-X-INDEP"),
    Damage("old master", replace("master.m3u8", "VERSION:7", "VERSION:6"),
           "master.m3u8 states EXT-X-VERSION 6", "version 6"),
    Damage("not sorted", replace("master.m3u8", r"(#EXT-X-STR.*\n.*\n)(#EXT-X-STR.*\n.*\n)", r"\2\1"),
           "master.m3u8 does not go from the lowest", "not sorted"),
    Damage("missing rendition", replace("master.m3u8", r"#EXT-X-STREAM-INF.*160x90.*\n.*\n", ""),
           "master.m3u8 does not name 90p/playlist.m3u8", "master.m3u8 names"),
    Damage("foreign rendition", double,
           "master.m3u8 names 'extra/playlist.m3u8', which is no rendition", "master.m3u8 names"),
    Damage("rendition twice", replace("master.m3u8", r"180p/playlist",
           "90p/playlist"), "names 90p/.* more than once", "names"),
    Damage("rendition elsewhere", replace("master.m3u8", r"\n180p/", r"\nhttps://example.org/180p/"),
           "master.m3u8 names 'https://example.org/180p/playlist.m3u8', which is a URL", "master.m3u8 names"),
    Damage("no sound named", replace("master.m3u8", "#EXT-X-MEDIA.*\n", ""),
           "master.m3u8 names nothing as sound", "the sound"),
    Damage("other sound named", replace("master.m3u8", "audio/playlist", "../audio/playlist"),
           "master.m3u8 names '../audio/playlist.m3u8', which leads out", "the sound"),
    Damage("no audio group", replace("master.m3u8", ',AUDIO="audio"', ""),
           "master.m3u8 gives 90p no AUDIO group", "AUDIO of 90p"),
]  # fmt: skip

DAMAGES = [*FILES, *PLAYLISTS, *TIMES, *CONTENT, *MASTER]
