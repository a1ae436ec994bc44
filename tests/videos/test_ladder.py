"""Which qualities a source gets."""

from fractions import Fraction
from itertools import product

import pytest

from jobs.videos.transcoding.errors import Refused
from jobs.videos.transcoding.ladder import NAMES, RUNGS, ladder_for
from jobs.videos.transcoding.source import AudioStream, Source, VideoStream

SOUND = AudioStream(1, "aac", 2, 48_000)
SIZES = [
    (64, 36),
    (320, 180),
    (640, 360),
    (854, 480),
    (1280, 720),
    (1920, 1080),
    (2560, 1440),
    (3840, 2160),
    (7680, 4320),
]


def a_source(width=1920, height=1080, rate=Fraction(30), bitrate=0, audio: AudioStream | None = SOUND) -> Source:
    return Source("mov", 10.0, 1000, VideoStream(0, "h264", width, height, rate, bitrate=bitrate), audio)


def names(source: Source, wanted=None) -> list[str]:
    return [rung.name for rung in ladder_for(source, wanted).rungs]


def test_rungs_above_the_source_are_skipped_with_the_reason():
    ladder = ladder_for(a_source(1280, 720))
    assert [rung.name for rung in ladder.rungs] == ["720p", "480p", "360p"]
    assert ladder.skipped == dict.fromkeys(["2160p", "1440p", "1080p"], "The source has only 720 lines.")


def test_the_rung_is_the_short_side():
    ladder = ladder_for(a_source(720, 1280))
    assert [(rung.name, rung.width, rung.height) for rung in ladder.rungs] == [
        ("720p", 720, 1280),
        ("480p", 480, 854),
        ("360p", 360, 640),
    ]


@pytest.mark.parametrize(
    ("size", "name", "made"),
    [
        ((320, 180), "180p", (320, 180)),
        ((64, 36), "36p", (64, 36)),
        ((321, 181), "180p", (320, 180)),
        ((3, 1), "2p", (6, 2)),
    ],
)
def test_a_source_below_the_lowest_rung_gets_one_of_its_own_size_made_even(size, name, made):
    (rung,) = ladder_for(a_source(*size)).rungs
    assert (rung.name, (rung.width, rung.height)) == (name, made)


@pytest.mark.parametrize(
    ("size", "portrait", "rate"), list(product(SIZES, [False, True], [Fraction(25), Fraction(60)]))
)
def test_every_size_makes_a_ladder_that_keeps_its_shape_and_never_grows(size, portrait, rate):
    width, height = reversed(size) if portrait else size
    for rung in ladder_for(a_source(width, height, rate)).rungs:
        assert rung.width % 2 == 0
        assert rung.height % 2 == 0
        assert (rung.width, rung.height) <= (width, height)
        assert rung.width / rung.height == pytest.approx(width / height, rel=0.02)
        assert (rung.width < rung.height) == portrait


def test_more_than_thirty_frames_a_second_may_take_half_as_much_again():
    calm, fast = (ladder_for(a_source(rate=Fraction(rate))).rungs[0] for rate in (30, 60))
    assert (calm.maxrate, fast.maxrate) == (5000, 7500)


def test_no_rung_takes_much_more_than_the_source_has():
    rates = {rung.name: rung.maxrate for rung in ladder_for(a_source(bitrate=1_000_000)).rungs}
    assert rates == {"1080p": 1300, "720p": 1300, "480p": 1300, "360p": 800}


def test_a_source_of_almost_no_bits_still_gets_some():
    assert {rung.maxrate for rung in ladder_for(a_source(bitrate=1000)).rungs} == {100}


# MEDIA: the levels of the table
@pytest.mark.parametrize(
    ("size", "rate", "level"),
    [
        ((640, 360), 30, 30), ((854, 480), 30, 31), ((1280, 720), 30, 31), ((1280, 720), 60, 32),
        ((1920, 1080), 30, 40), ((1920, 1080), 60, 42), ((2560, 1440), 30, 50), ((2560, 1440), 60, 51),
        ((3840, 2160), 30, 51), ((3840, 2160), 60, 52),
        ((2592, 1080), 30, 50),  # wider than the rung's own level holds
    ],
)  # fmt: skip
def test_the_level_is_the_lowest_that_holds_the_picture(size, rate, level):
    assert ladder_for(a_source(size[0], size[1], Fraction(rate))).rungs[0].level == level


def test_the_sound_has_the_rate_of_the_best_quality_and_none_where_there_is_none():
    assert ladder_for(a_source(3840, 2160)).audio_rate == 192
    assert ladder_for(a_source(640, 360)).audio_rate == 96
    assert ladder_for(a_source(audio=None)).audio_rate == 0


def test_wanted_qualities_are_made_and_no_others():
    ladder = ladder_for(a_source(1280, 720), ["1080p", "480p"])
    assert [rung.name for rung in ladder.rungs] == ["480p"]
    assert list(ladder.skipped) == ["1080p"]


def test_where_none_of_the_wanted_qualities_fits_it_says_so():
    with pytest.raises(Refused, match=r"only 720 lines, too few for 1080p, 2160p"):
        ladder_for(a_source(1280, 720), ["2160p", "1080p"])


def test_the_names_are_those_of_the_rungs():
    assert names(a_source(3840, 2160)) == list(NAMES) == [f"{rung[0]}p" for rung in RUNGS]
