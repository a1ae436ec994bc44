"""The probe, through its real child process: what it finds out, and what it refuses and why."""

import os
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

from jobs.handlers.commands import Commands
from jobs.videos.transcoding.probe import probe
from jobs.videos.transcoding.source import AudioStream, Source, VideoStream
from jobs.videos.transcoding.told import SOURCE, believed
from tests.videos import bad_sources, sources

run = Commands(lambda: None).run
NTSC_FILM = Fraction(24000, 1001)


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("sources")


def look_at(path: Path) -> Source:
    return probe(path, run)


def test_everything_about_a_source(folder):
    path = sources.landscape(folder)
    found = look_at(path)
    bitrate = found.video.bitrate
    assert found == Source(
        demuxer="mov",
        duration=2.0,
        size=path.stat().st_size,
        video=VideoStream(0, "h264", 320, 180, Fraction(30), bitrate=bitrate),
        audio=AudioStream(1, "aac", channels=1, sample_rate=44100),
    )
    assert 0.8 * 8 * found.size / 2 < bitrate < 8 * found.size / 2


def test_the_facts_pass_through_json(folder):
    found = look_at(sources.film(folder))
    assert believed(SOURCE, found.as_json()) == found


def test_a_relative_path(folder, monkeypatch):
    monkeypatch.chdir(folder)
    assert look_at(Path(sources.landscape(folder).name)).duration == 2.0


# Pictures


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (sources.portrait, {"width": 180, "height": 320}),
        (sources.rotated, {"width": 180, "height": 320, "rotation": 270}),
        (sources.upside_down, {"width": 320, "height": 180, "rotation": 180}),
        (sources.anamorphic, {"width": 320, "height": 180, "is_anamorphic": True}),
        (sources.rotated_anamorphic, {"width": 180, "height": 320, "rotation": 90, "is_anamorphic": True}),
        (sources.tiny, {"width": 64, "height": 36}),
        (sources.odd, {"width": 321, "height": 181}),
        (sources.ten_bit, {"bit_depth": 10, "is_hdr": False}),
        (sources.hdr, {"bit_depth": 10, "is_hdr": True, "codec": "hevc"}),
        (sources.hlg, {"bit_depth": 10, "is_hdr": True}),
        (sources.interlaced, {"is_interlaced": True, "frame_rate": Fraction(25)}),
        (sources.with_cover, {"width": 320, "height": 180, "codec": "h264"}),
    ],
)
def test_how_a_picture_is_shown(make: sources.Recipe, expected, folder):
    video = look_at(make(folder)).video
    assert {name: getattr(video, name) for name in expected} == expected


@pytest.mark.parametrize(
    ("make", "rate", "is_variable"),
    [
        (sources.landscape, Fraction(30), False),
        (sources.film, NTSC_FILM, False),
        (sources.sixty, Fraction(60), False),
        (sources.fast, Fraction(60), False),
        (sources.slides, Fraction(10), False),
        (sources.variable, Fraction(30), True),
        (sources.fragmented, Fraction(30), False),
        (sources.tiny, Fraction(30), False),
    ],
)
def test_the_frame_rate_of_the_output(make: sources.Recipe, rate, is_variable, folder):
    video = look_at(make(folder)).video
    assert (video.frame_rate, video.is_variable) == (rate, is_variable)


@pytest.mark.parametrize("suffix", ["mkv", "webm", "flv"])
def test_a_clock_of_milliseconds_makes_no_rate_variable(suffix, folder):
    video = look_at(sources.container(suffix, folder)).video
    assert (video.frame_rate, video.is_variable) == (Fraction(30), False)


# Durations: of the picture, from the start of the file, to the end of what is really there


@pytest.mark.parametrize(
    ("make", "seconds"),
    [
        (sources.tiny, 0.4),
        (sources.film, 2.002),
        (sources.slides, 4.0),
        (sources.long_sound, 2.0),
        (sources.late_picture, 2.5),
        (sources.recorded_live, 2.0),
        (sources.fragmented, 2.0),
        (bad_sources.not_a_number, 2.0),
    ],
)
def test_how_long_its_picture_lasts(make: sources.Recipe, seconds, folder):
    assert look_at(make(folder)).duration == pytest.approx(seconds, abs=0.025)


def test_the_end_of_a_long_recording_is_found(folder):
    """Longer than what is looked at for its frame rate, and it says nothing itself."""
    path = folder / "longer.mkv"
    many = ("-stream_loop", "19", "-i", sources.silent(folder))
    sources.ffmpeg(*many, *sources.COPY, "-f", "matroska", "-live", "1", path)
    assert look_at(path).duration == pytest.approx(40, abs=0.05)


# Sounds


@pytest.mark.parametrize(
    ("make", "index", "channels"), [(sources.surround, 1, 6), (sources.two_sounds, 2, 1), (sources.with_cover, 1, 1)]
)
def test_which_sound_is_taken(make: sources.Recipe, index, channels, folder):
    audio = look_at(make(folder)).audio
    assert audio is not None
    assert (audio.index, audio.channels) == (index, channels)


def test_a_video_without_sound(folder):
    assert look_at(sources.silent(folder)).audio is None


# Containers and names


@pytest.mark.parametrize(
    ("suffix", "demuxer"),
    [
        ("mov", "mov"),
        ("m4v", "mov"),
        ("3gp", "mov"),
        ("mkv", "matroska"),
        ("webm", "matroska"),
        ("ts", "mpegts"),
        ("m2ts", "mpegts"),
        ("mpg", "mpeg"),
        ("vob", "mpeg"),
        ("avi", "avi"),
        ("flv", "flv"),
        ("wmv", "asf"),
        ("ogv", "ogg"),
        ("mxf", "mxf"),
    ],
)
def test_containers(suffix, demuxer, folder):
    found = look_at(sources.container(suffix, folder))
    assert found.demuxer == demuxer
    assert found.duration == pytest.approx(2, abs=0.06)
    assert (found.video.width, found.video.height, found.video.frame_rate) == (320, 180, 30)
    assert found.audio is not None


def test_the_name_says_nothing_about_the_container(folder):
    path = folder / "matroska-in-disguise.txt"
    path.write_bytes(sources.container("mkv", folder).read_bytes())
    assert look_at(path).demuxer == "matroska"


def test_a_recording_that_begins_in_the_middle_of_a_packet(folder):
    path = folder / "tuned-in.ts"
    path.write_bytes(sources.container("ts", folder).read_bytes()[100:])
    assert look_at(path).demuxer == "mpegts"


@pytest.mark.parametrize(
    "name",
    [
        "with spaces.mp4",
        'it\'s "quoted".mp4',
        "-i.mp4",
        "--help",
        "two\nlines.mp4",
        "http:colon.mp4",
        "per%03dcent.mp4",
        "glob[0-9]*?.mp4",
        "$(touch x); `y` & z|.mp4",
        "фильм 映画 🎬.mp4",
        os.fsdecode(b"no\xff\xfeutf8.mp4"),
    ],
)
def test_names(name, folder, monkeypatch):
    monkeypatch.chdir(sources.named(name, folder).parent)
    assert look_at(Path(name)).duration == 2.0


def test_padding_at_the_end_changes_nothing(folder, tmp_path):
    whole = sources.landscape(folder)
    copy = tmp_path / "copy"
    copy.write_bytes(whole.read_bytes() + bytes(8))
    assert look_at(copy) == replace(look_at(whole), size=whole.stat().st_size + 8)
