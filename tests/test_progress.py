"""The arithmetic of progress."""

import pytest

from jobs.progress import eta_seconds, overall_percent


@pytest.mark.parametrize(("position", "percent", "overall"), [(0, 50, 17), (1, 25, 42), (2, 80, 93)])
def test_three_equal_phases_at_50_25_and_80_percent_give_17_42_and_93(position, percent, overall):
    assert overall_percent([1, 1, 1], position, percent) == overall


@pytest.mark.parametrize(("position", "percent", "overall"), [(0, 100, 10), (1, 0, 10), (1, 50, 50), (2, 100, 100)])
def test_phases_weigh_what_they_are_told_to(position, percent, overall):
    assert overall_percent([1, 8, 1], position, percent) == overall


def test_without_any_weight_nothing_is_done():
    assert overall_percent([0, 0], 1, 50) == 0


@pytest.mark.parametrize(
    ("percent", "elapsed", "rest"),
    [(25, 60, 180), (50, 10, 10), (100, 99, 0), (0, 60, None), (-1, 60, None), (101, 60, None), (50, 0, None)],
)
def test_the_rest_takes_as_long_as_before(percent, elapsed, rest):
    assert eta_seconds(percent, elapsed) == rest
