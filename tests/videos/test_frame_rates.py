"""The constant rate of the output, from all that files say about theirs."""

from fractions import Fraction
from itertools import accumulate

import pytest

from jobs.videos.transcoding.probing.frame_rates import COMMON, FALLBACK, choose_rate

TICK = Fraction(1, 90_000)
MILLISECOND = Fraction(1, 1000)


def times(rate: Fraction | int, count: int = 100, tick: Fraction = TICK) -> list[Fraction]:
    """When the pictures of a constant rate come, rounded to a clock."""
    return [round(number / Fraction(rate) / tick) * tick for number in range(count)]


@pytest.mark.parametrize("rate", COMMON)
@pytest.mark.parametrize("tick", [TICK, MILLISECOND])
def test_a_common_rate_is_kept_whatever_the_clock(rate, tick):
    average = 100 / (times(rate, 101, tick)[-1])
    assert choose_rate(times(rate, tick=tick), tick, average, Fraction(1000)) == (rate, False)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (Fraction(120), Fraction(60)),
        (Fraction(120_000, 1001), Fraction(60_000, 1001)),
        (Fraction(100), Fraction(50)),
        (Fraction(240), Fraction(60)),
        (Fraction(144), Fraction(48)),
        (Fraction(18), Fraction(18)),
        (Fraction(48), Fraction(48)),
        (Fraction(5), Fraction(10)),
        (Fraction(1), Fraction(10)),
        (Fraction(1, 10), Fraction(10)),
    ],
)
def test_too_fast_and_too_slow_ones_stay_even(given, expected):
    assert choose_rate(times(given, 20), TICK, given, given) == (expected, False)


@pytest.mark.parametrize("base", [Fraction(1000), Fraction(90_000), None])
def test_the_clock_is_no_rate(base):
    assert choose_rate(times(25), TICK, Fraction(25), base) == (25, False)
    assert choose_rate([], TICK, None, base) == (FALLBACK, False)
    assert choose_rate([Fraction(0)], TICK, Fraction(25), base) == (25, False)


def test_a_few_dropped_pictures_make_no_rate_variable():
    kept = [time for number, time in enumerate(times(30, 300)) if number not in (50, 150, 250)]
    assert choose_rate(kept, TICK, Fraction(297, 10), Fraction(30)) == (30, False)


def steps(*milliseconds: int) -> list[Fraction]:
    return [time * MILLISECOND for time in accumulate(milliseconds, initial=0)]


@pytest.mark.parametrize(
    ("pictures", "average", "base", "expected"),
    [
        (steps(*[33, 67] * 50), Fraction(20), Fraction(30), Fraction(30)),
        (steps(*[33, 30, 36, 20, 47] * 20), Fraction(299, 10), Fraction(90_000), Fraction(30_000, 1001)),
        (steps(*[10, 500] * 50), Fraction(4), Fraction(100), Fraction(10)),
        (steps(*[7, 9, 4, 12] * 20), Fraction(125), Fraction(1000), Fraction(60)),
        (times(30), Fraction(15), Fraction(30), Fraction(30)),  # even at first, with pauses later
    ],
)
def test_a_variable_rate(pictures, average, base, expected):
    assert choose_rate(pictures, MILLISECOND, average, base) == (expected, True)
