"""Durations by class: where a time falls, and what percentiles come out."""

import pytest

from jobs.durations import BOUNDS, class_of, percentile


def test_the_bounds_go_from_a_millisecond_to_fourteen_hours_in_steps_of_1_2_5():
    assert BOUNDS[:4] == (0.001, 0.002, 0.005, 0.01)
    assert BOUNDS[-1] == 50_000
    assert len(BOUNDS) == 24


@pytest.mark.parametrize(
    ("seconds", "bound"), [(0, 0.001), (-3, 0.001), (0.001, 0.001), (0.0011, 0.002), (1, 1), (7, 10), (50_000, 50_000)]
)
def test_a_time_is_in_the_class_whose_bound_it_does_not_exceed(seconds, bound):
    assert BOUNDS[class_of(seconds)] == bound


def test_what_takes_longer_than_all_bounds_has_a_class_of_its_own():
    assert class_of(1e9) == len(BOUNDS)
    assert percentile({len(BOUNDS): 3}, 0.5) == BOUNDS[-1]


def test_a_percentile_is_found_in_its_class_and_even_inside_it():
    jobs = {class_of(0.5): 50, class_of(4): 40, class_of(80): 10}
    assert percentile(jobs, 0.25) == pytest.approx(0.2 + 0.5 * 0.3)
    assert percentile(jobs, 0.5) == 0.5
    assert percentile(jobs, 0.9) == 5
    assert percentile(jobs, 0.95) == pytest.approx(50 + 0.5 * 50)
    assert percentile(jobs, 1) == 100


def test_of_nothing_there_is_no_percentile():
    assert percentile({}, 0.5) is None
    assert percentile({3: 0}, 0.5) is None
