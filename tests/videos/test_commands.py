"""The command lines of ffmpeg, and the encoders behind them."""

from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured

from jobs.videos.transcoding import commands
from jobs.videos.transcoding.chunks import Chunk
from jobs.videos.transcoding.encoders import CPU, ENCODERS, HARDWARE, gop_of, usable_encoders
from jobs.videos.transcoding.ladder import Rung
from jobs.videos.transcoding.source import AudioStream, Source, VideoStream

RUNG = Rung("720p", 1280, 720, 2800, 22, 31)
MIDDLE = Chunk(2, 3600, 1800, is_last=False)


def a_source(**video) -> Source:
    rate = video.pop("frame_rate", Fraction(30))
    return Source(
        "mov", 95.0, 1000, VideoStream(3, "h264", 1920, 1080, rate, **video), AudioStream(1, "aac", 6, 44_100)
    )


def encode(source=None, encoder=CPU, chunk=MIDDLE, path="/in/a.mp4") -> list[str]:
    return commands.encode_chunk("ffmpeg", Path(path), source or a_source(), RUNG, encoder, chunk, Path("/out/1.part"))


def after(argv: list[str], option: str) -> str:
    return argv[argv.index(option) + 1]


def test_it_asks_nothing_and_stops_at_errors():
    argv = encode()
    assert argv[0] == "ffmpeg"
    assert {"-nostdin", "-xerror"} <= set(argv)


@pytest.mark.parametrize("name", ["-i", "http:x", "concat:a|b", "a:b %d.mp4"])
def test_no_name_of_a_source_is_an_option_a_protocol_or_a_pattern(name):
    argv = encode(path=f"/in/{name}")
    assert after(argv, "-i") == f"file:/in/{name}"
    assert after(argv, "-protocol_whitelist") == "file,pipe"
    assert argv[argv.index("-i") - 2 : argv.index("-i")] == ["-f", "mov"]  # and nothing else may open it


def test_a_chunk_begins_a_quarter_of_a_frame_early_and_counts_its_frames():
    argv = encode()
    assert float(after(argv, "-ss")) == pytest.approx(120 - 0.25 / 30, abs=1e-6)
    assert after(argv, "-frames:v") == "1800"
    assert "-t" not in argv


def test_the_first_chunk_does_not_seek_and_the_last_one_goes_on_to_the_end():
    first, last = encode(chunk=Chunk(0, 0, 1800, False)), encode(chunk=Chunk(3, 5400, 10, True))
    assert "-ss" not in first
    assert "-frames:v" not in last


@pytest.mark.parametrize(("rate", "gop"), [("30", 60), ("30000/1001", 60), ("24000/1001", 48), ("25", 50), ("1/10", 1)])
def test_groups_of_pictures_last_two_seconds_and_are_all_alike(rate, gop):
    argv = encode(a_source(frame_rate=Fraction(rate)))
    assert after(argv, "-g") == after(argv, "-keyint_min") == str(gop) == str(gop_of(Fraction(rate)))
    assert after(argv, "-sc_threshold") == "0"
    assert "open_gop=0" in after(argv, "-x264-params")


def test_the_rate_is_capped_at_what_the_rung_says():
    argv = encode()
    assert [after(argv, each) for each in ("-maxrate", "-bufsize", "-crf", "-level:v")] == [
        "2800k",
        "5600k",
        "22",
        "31",
    ]


def test_pictures_come_at_a_constant_rate_in_the_rungs_size_with_square_points():
    assert after(encode(), "-filter:v") == (
        "fps=fps=30:start_time=0,scale=1280:720:flags=bicubic,setsar=1,format=yuv420p"
    )


def test_interlaced_pictures_are_made_whole_first_and_bright_ones_mapped_to_what_screens_show():
    assert after(encode(a_source(is_interlaced=True)), "-filter:v").startswith("bwdif")
    hdr = after(encode(a_source(is_hdr=True)), "-filter:v")
    assert "tonemap" in hdr
    assert hdr.endswith("format=yuv420p")


def test_only_the_picture_that_the_probe_chose_is_taken():
    assert after(encode(), "-map") == "0:3"
    assert {"-an", "-sn", "-dn"} <= set(encode())


@pytest.mark.parametrize("encoder", HARDWARE, ids=lambda encoder: encoder.name)
def test_hardware_makes_the_same_groups_and_rates(encoder):
    argv = encode(encoder=encoder)
    assert after(argv, "-c:v") == encoder.name
    assert [after(argv, each) for each in ("-g", "-maxrate", "-level:v")] == ["60", "2800k", "31"]
    assert "-crf" not in argv
    assert "{" not in " ".join(argv)


def test_pictures_are_brought_to_the_card_for_vaapi():
    vaapi = next(encoder for encoder in HARDWARE if encoder.name == "h264_vaapi")
    argv = encode(encoder=vaapi)
    assert argv.index("-vaapi_device") < argv.index("-i")
    assert after(argv, "-filter:v").endswith("format=nv12,hwupload")


def test_the_sound_is_stereo_and_lasts_as_long_as_the_picture():
    argv = commands.encode_audio("ffmpeg", Path("/in/a.mp4"), a_source(), 128, 6.0)
    assert [after(argv, each) for each in ("-map", "-ac", "-ar", "-b:a", "-t")] == [
        "0:1",
        "2",
        "48000",
        "128k",
        "95.000000",
    ]


def test_segments_are_named_without_their_folder():
    """A per cent sign in it would be taken for the pattern's."""
    argv = commands.join_chunks("ffmpeg", Path("/folder/100%/chunks.txt"), 6.0)
    assert after(argv, "-hls_segment_filename") == "segment_%05d.m4s"
    assert argv[-1] == "playlist.m3u8"


def test_what_is_joined_is_mp4_or_nothing():
    """ffmpeg itself guesses what each chunk is."""
    argv = commands.join_chunks("ffmpeg", Path("/folder/chunks.txt"), 6.0)
    assert after(argv, "-format_whitelist") == "concat,mov"
    assert argv.index("-format_whitelist") < argv.index("-i")


@pytest.mark.parametrize("encoder", ENCODERS, ids=lambda encoder: encoder.name)
def test_what_a_quality_says_is_one_argument_each(encoder):
    spoiled: dict[str, Any] = {"crf": "23 -f null -", "level": "31 -y"}
    rung = replace(RUNG, **spoiled)
    argv = encoder.arguments(rung, 60)
    assert [after(argv, each) for each in ("-level:v", "-g")] == ["31 -y", "60"]
    assert {"-f", "-y"}.isdisjoint(argv)


def test_the_thumbnail_shows_all_of_the_picture_as_players_do():
    source = Source("mov", 8, 1, VideoStream(0, "mpeg2video", 1047, 576, Fraction(25), is_anamorphic=True))
    argv = commands.take_thumbnail("ffmpeg", Path("a"), source, 2.0, Path("b"))
    assert "scale=640:352" in after(argv, "-filter:v")
    assert after(argv, "-ss") == "2.000000"


def test_without_hardware_the_cpu_encodes():
    assert usable_encoders() == [CPU]


def test_an_operator_names_the_encoders_and_their_order(settings):
    settings.JOBS_VIDEO_ENCODERS = "libx264, h264_qsv"
    assert [encoder.name for encoder in usable_encoders()] == ["libx264", "h264_qsv"]
    settings.JOBS_VIDEO_ENCODERS = "libx264"
    assert usable_encoders() == [CPU]


def test_an_encoder_that_does_not_exist_is_named(settings):
    settings.JOBS_VIDEO_ENCODERS = "h264_nvnec,libx264"
    with pytest.raises(ImproperlyConfigured, match=r"'h264_nvnec'; choose from h264_nvenc, .*libx264"):
        usable_encoders()
