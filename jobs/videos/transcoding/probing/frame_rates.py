"""The constant frame rate of the output, from what a file says about its own and from when its pictures come."""

from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise

NTSC = Fraction(1000, 1001)
COMMON = tuple(
    sorted([*(Fraction(rate) for rate in (10, 12, 15, 20, 24, 25, 30, 50, 60)), 24 * NTSC, 30 * NTSC, 60 * NTSC])
)
FASTEST, SLOWEST = Fraction(60), Fraction(10)
FALLBACK = Fraction(30)
SAME = Fraction(2, 100)  # two rates this close are one, measured twice
SNAP = Fraction(4, 1000)  # less than lies between 24 and 25, more than between 30 and 29.97
UNEVEN = Fraction(1, 4)  # a step this much longer or shorter than the usual one is of another length
EXCEPTIONS = Fraction(5, 100)  # so many dropped frames do not make a rate variable
PLAUSIBLE = (Fraction(1, 100), Fraction(1000))  # 1000 itself is no rate, but the clock of Matroska


def choose_rate(
    times: Sequence[Fraction], tick: Fraction, average: Fraction | None, base: Fraction | None
) -> tuple[Fraction, bool]:
    """The rate for the output, and whether the file's own is variable.

    `times` are those of its first pictures in seconds, `tick` is the unit they are counted in, `average` is pictures
    divided by duration, `base` the slowest rate that all its times would fit into.
    """
    average, base = plausible(average), plausible(base)
    steps = sorted(later - earlier for earlier, later in pairwise(times) if later > earlier)
    if not steps:
        return in_range(snap(average or base or FALLBACK)), False
    usual = steps[len(steps) // 2]
    if is_uneven(steps, tick) or (average is not None and not fits(average, usual, 2 * SAME, 2 * tick)):
        return in_range(variable_rate(average or 1 / usual, 1 / usual, base)), True
    likely = [rate for rate in (average, base) if rate is not None and fits(rate, usual, SAME, tick)]
    likely = likely or [len(steps) / sum(steps, Fraction(0))]
    return in_range(next((rate for rate in map(snap, likely) if rate in COMMON), snap(likely[0]))), False


def plausible(rate: Fraction | None) -> Fraction | None:
    return rate if rate is not None and PLAUSIBLE[0] <= rate < PLAUSIBLE[1] else None


def fits(rate: Fraction, step: Fraction, tolerance: Fraction, rounding: Fraction) -> bool:
    return abs(1 / rate - step) <= max(tolerance * step, rounding)


def is_uneven(steps: Sequence[Fraction], tick: Fraction) -> bool:
    """Whether pictures come at times of their own. Rounding to the file's clock is no unevenness."""
    usual = steps[len(steps) // 2]
    allowed = max(2 * tick, UNEVEN * usual)
    return sum(abs(step - usual) > allowed for step in steps) > EXCEPTIONS * len(steps)


def variable_rate(average: Fraction, usual: Fraction, base: Fraction | None) -> Fraction:
    """Fast enough for its busy parts, without multiplying the pictures of the calm ones."""
    if base is not None and average <= base <= min(FASTEST, Fraction(5, 2) * average):
        return snap(base)
    wanted = max(average, min(usual, 2 * average)) * (1 - SAME)
    return next((rate for rate in COMMON if rate >= wanted), FASTEST)


def snap(rate: Fraction) -> Fraction:
    """The common rate that is meant by one close to it."""
    nearest = min(COMMON, key=lambda common: abs(common - rate))
    return nearest if abs(rate - nearest) <= SNAP * nearest else rate.limit_denominator(1001)


def in_range(rate: Fraction) -> Fraction:
    """Every second, third … picture of what is too fast; each one twice, three times … of what is too slow."""
    if rate > FASTEST:
        rate /= -(-rate // FASTEST)
    elif rate < SLOWEST:
        rate *= -(-SLOWEST // rate)
    return rate
