"""Numbers as people read them."""

import pytest

from jobs.videos.shown.texts import bitrate, clock, facts, ordinal


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0:00"),
        (0.4, "0:00"),
        (59.6, "1:00"),
        (83.2, "1:23"),
        (3723, "1:02:03"),
        (None, ""),
        (float("nan"), ""),
        (float("inf"), ""),
        ("5", ""),
    ],
)
def test_durations(seconds, text):
    assert clock(seconds) == text


@pytest.mark.parametrize(
    ("bits", "text"),
    [(0, "0 bit/s"), (812_345, "812 kbit/s"), (2_800_000, "2.8 Mbit/s"), (10**13, "1e+04 Gbit/s"), (None, "")],
)
def test_bitrates(bits, text):
    assert bitrate(bits) == text


def test_ordinals():
    texts = [ordinal(number) for number in (1, 2, 3, 4, 10, 11, 12, 13, 21, 22, 101, 111, 113)]
    assert texts == [
        "1st",
        "2nd",
        "3rd",
        "4th",
        "10th",
        "11th",
        "12th",
        "13th",
        "21st",
        "22nd",
        "101st",
        "111th",
        "113th",
    ]


def test_facts():
    assert facts(0, None, {}) == ""
    assert facts(1, 4, {"fps": 1234.5, "speed": 41.2, "eta": 0}) == "1 of 4 segments · 1234 fps · 41× · 0:00 left"
    assert facts(0, None, {"fps": 0.5, "speed": 0.034}) == "0.5 fps · 0.034×"
