"""Small sources of every sort, made with ffmpeg when first asked for and kept in the folder they are asked for in.

`sources.landscape(folder)` gives the path; `sources.make("landscape", folder)` is the same by name.
"""

import shutil
import subprocess
from collections.abc import Callable
from functools import wraps
from pathlib import Path

import imageio_ffmpeg

Recipe = Callable[[Path], Path]

PICTURE = "testsrc2=size=320x180:rate=30:duration=2"
TONE = "sine=frequency=440:duration=2"
X264 = ("-c:v", "libx264", "-preset", "ultrafast", "-pix_fmt", "yuv420p", "-g", "30")
AAC = ("-c:a", "aac", "-b:a", "64k")
RECIPES: dict[str, Recipe] = {}


def ffmpeg(*arguments: str | Path) -> None:
    program = [imageio_ffmpeg.get_ffmpeg_exe(), "-nostdin", "-v", "error", "-y"]
    said = subprocess.run([*program, *map(str, arguments)], capture_output=True, text=True)
    assert said.returncode == 0, f"ffmpeg could not make a source: {said.stderr}"


def lavfi(*graphs: str) -> list[str]:
    return [part for graph in graphs for part in ("-f", "lavfi", "-i", graph)]


def source(file_name: str) -> Callable[[Callable[[Path, Path], object]], Recipe]:
    """Turns a function that writes a file, given the folder for others it needs, into one that makes it only once."""

    def decorate(write: Callable[[Path, Path], object]) -> Recipe:
        @wraps(write)
        def recipe(folder: Path) -> Path:
            path = folder / file_name
            if not path.exists():
                half_done = folder / f".half-done-{file_name}"
                write(half_done, folder)
                half_done.rename(path)
            return path

        RECIPES[write.__name__] = recipe
        return recipe

    return decorate


def make(name: str, folder: Path) -> Path:
    return RECIPES[name](folder)


# Pictures and sounds


@source("landscape.mp4")
def landscape(path: Path, folder: Path) -> None:
    ffmpeg(*lavfi(PICTURE, TONE), *X264, *AAC, path)


@source("portrait.mp4")
def portrait(path: Path, folder: Path) -> None:
    ffmpeg(*lavfi(PICTURE.replace("320x180", "180x320"), TONE), *X264, *AAC, path)


@source("rotated.mp4")
def rotated(path: Path, folder: Path) -> None:
    """Stored lying, shown upright: what a phone writes."""
    ffmpeg("-display_rotation", "90", "-i", landscape(folder), "-c", "copy", path)


@source("upside-down.mp4")
def upside_down(path: Path, folder: Path) -> None:
    ffmpeg("-display_rotation", "180", "-i", landscape(folder), "-c", "copy", path)


@source("anamorphic.mp4")
def anamorphic(path: Path, folder: Path) -> None:
    """Stored as 240×180, shown as 320×180."""
    ffmpeg(*lavfi(PICTURE.replace("320x180", "240x180"), TONE), "-vf", "setsar=4/3", *X264, *AAC, path)


@source("rotated-anamorphic.mp4")
def rotated_anamorphic(path: Path, folder: Path) -> None:
    ffmpeg("-display_rotation", "-90", "-i", anamorphic(folder), "-c", "copy", path)


@source("variable.mp4")
def variable(path: Path, folder: Path) -> None:
    """A second of every frame at 30 frames a second, then a second of every third."""
    chosen = "select='lt(t,1)+not(mod(n,3))'"
    ffmpeg(*lavfi(PICTURE, TONE), "-vf", chosen, "-fps_mode", "vfr", *X264, *AAC, path)


@source("sixty.mp4")
def sixty(path: Path, folder: Path) -> None:
    ffmpeg(*lavfi(PICTURE.replace("rate=30", "rate=60")), *X264, path)


@source("fast.mp4")
def fast(path: Path, folder: Path) -> None:
    """240 frames a second, as slow-motion cameras record."""
    ffmpeg(*lavfi("testsrc2=size=160x90:rate=240:duration=1"), *X264, path)


@source("film.mp4")
def film(path: Path, folder: Path) -> None:
    ffmpeg(*lavfi(PICTURE.replace("rate=30", "rate=24000/1001")), *X264, path)


@source("slides.mp4")
def slides(path: Path, folder: Path) -> None:
    """One picture in two seconds."""
    ffmpeg(*lavfi("testsrc2=size=160x90:rate=1/2:duration=4"), *X264, path)


@source("ten-bit.mp4")
def ten_bit(path: Path, folder: Path) -> None:
    ffmpeg(*lavfi(PICTURE), *X264, "-pix_fmt", "yuv420p10le", path)


def write_hdr(path: Path, transfer: str) -> None:
    tags = f"log-level=error:colorprim=bt2020:transfer={transfer}:colormatrix=bt2020nc"
    encoder = ["-c:v", "libx265", "-preset", "ultrafast", "-x265-params", tags, "-tag:v", "hvc1"]
    colours = ["-color_primaries", "bt2020", "-color_trc", transfer, "-colorspace", "bt2020nc"]
    ffmpeg(*lavfi("testsrc2=size=320x180:rate=25:duration=1"), *encoder, "-pix_fmt", "yuv420p10le", *colours, path)


@source("hdr.mp4")
def hdr(path: Path, folder: Path) -> None:
    """PQ, as HDR10 has it."""
    write_hdr(path, "smpte2084")


@source("hlg.mp4")
def hlg(path: Path, folder: Path) -> None:
    write_hdr(path, "arib-std-b67")


@source("interlaced.mp4")
def interlaced(path: Path, folder: Path) -> None:
    fields = "testsrc2=size=320x180:rate=50:duration=2,interlace"
    ffmpeg(*lavfi(fields), *X264, "-flags", "+ildct+ilme", "-x264-params", "tff=1", path)


@source("silent.mp4")
def silent(path: Path, folder: Path) -> None:
    ffmpeg(*lavfi(PICTURE), *X264, path)


@source("surround.mp4")
def surround(path: Path, folder: Path) -> None:
    ffmpeg(*lavfi(PICTURE, TONE), "-ac", "6", *X264, *AAC, path)


@source("two-sounds.mkv")
def two_sounds(path: Path, folder: Path) -> None:
    """The second sound, in mono, is the default one."""
    streams = ["-map", "0:v", "-map", "1:a", "-map", "1:a", "-disposition:a:0", "0", "-disposition:a:1", "default"]
    ffmpeg(*lavfi(PICTURE, TONE), *streams, "-ac:a:0", "2", "-ac:a:1", "1", *X264, *AAC, path)


@source("long-sound.mkv")
def long_sound(path: Path, folder: Path) -> None:
    """Two seconds of picture, four of sound."""
    ffmpeg(*lavfi(PICTURE, TONE.replace("duration=2", "duration=4")), *X264, *AAC, path)


@source("late-picture.mp4")
def late_picture(path: Path, folder: Path) -> None:
    """The picture begins half a second after the sound."""
    later = ("-itsoffset", "0.5", "-i", silent(folder))
    ffmpeg(*later, *lavfi(TONE), "-map", "0:v", "-map", "1:a", "-c:v", "copy", *AAC, path)


@source("tiny.mp4")
def tiny(path: Path, folder: Path) -> None:
    ffmpeg(*lavfi("testsrc2=size=64x36:rate=30:duration=0.4", "sine=duration=0.4"), *X264, *AAC, path)


@source("odd.mp4")
def odd(path: Path, folder: Path) -> None:
    ffmpeg(*lavfi("testsrc=size=321x181:rate=30:duration=1"), *X264, "-pix_fmt", "yuv444p", path)


# Containers


def container(suffix: str, folder: Path) -> Path:
    """The landscape in another container; see CONTAINERS."""
    return make(CONTAINERS[suffix], folder)


def write_as(suffix: str, *codecs: str) -> str:
    name = f"landscape_{suffix}"

    def write(path: Path, folder: Path) -> None:
        ffmpeg("-i", landscape(folder), *codecs, "-bitexact", path)  # without ids that are new each time

    write.__name__ = name
    source(f"landscape.{suffix}")(write)
    return name


COPY = ("-c", "copy")
MPEG2 = ("-c:v", "mpeg2video", "-c:a", "mp2")
VP8 = ("-c:v", "libvpx", "-deadline", "realtime", "-cpu-used", "8", "-c:a", "libvorbis")
CONTAINERS = {
    "mov": write_as("mov", *COPY),
    "m4v": write_as("m4v", *COPY),
    "3gp": write_as("3gp", *COPY),
    "mkv": write_as("mkv", *COPY),
    "webm": write_as("webm", *VP8),
    "ts": write_as("ts", *COPY),
    "m2ts": write_as("m2ts", *COPY),
    "mpg": write_as("mpg", *MPEG2),
    "vob": write_as("vob", *MPEG2),
    "avi": write_as("avi", "-c:v", "mpeg4", "-c:a", "mp2"),
    "flv": write_as("flv", *COPY),
    "wmv": write_as("wmv", "-c:v", "wmv2", "-c:a", "wmav2"),
    "ogv": write_as("ogv", "-c:v", "libtheora", "-c:a", "libvorbis"),
    "mxf": write_as("mxf", "-c:v", "mpeg2video", "-c:a", "pcm_s16le", "-ar", "48000"),
}


@source("fragmented.mp4")
def fragmented(path: Path, folder: Path) -> None:
    ffmpeg("-i", landscape(folder), *COPY, "-movflags", "frag_keyframe+empty_moov", path)


@source("recorded-live.mkv")
def recorded_live(path: Path, folder: Path) -> None:
    """Nothing in it says how long it is: it was written to where nobody could go back."""
    ffmpeg("-i", landscape(folder), *COPY, "-f", "matroska", "-live", "1", path)


@source("photo.jpg")
def photo(path: Path, folder: Path) -> None:
    ffmpeg(*lavfi("testsrc2=size=100x100"), "-frames:v", "1", "-update", "1", path)


@source("with-cover.mp4")
def with_cover(path: Path, folder: Path) -> None:
    """A video whose first stream is a picture of something else, in another size."""
    streams = ["-map", "1", "-map", "0", "-disposition:v:0", "attached_pic"]
    ffmpeg("-i", landscape(folder), "-i", photo(folder), *streams, *COPY, path)


def named(name: str, folder: Path) -> Path:
    """The landscape under a name of your choice, in a folder of its own."""
    path = folder / "named" / name
    path.parent.mkdir(exist_ok=True)
    shutil.copyfile(landscape(folder), path)
    return path
