"""Durations by class, 1-2-5 for each power of ten: enough for percentiles, and a handful of rows for a million jobs."""

from bisect import bisect_left
from collections.abc import Mapping

# Upper bounds in seconds, 1 ms to 14 hours; what takes longer is in one class behind the last.
BOUNDS = tuple(round(step * 10.0**power, 3) for power in range(-3, 5) for step in (1, 2, 5))
NOT_TIMED = -1
Spread = Mapping[int, int]


def class_of(seconds: float) -> int:
    return bisect_left(BOUNDS, seconds)


def percentile(jobs_by_class: Spread, share: float) -> float | None:
    """The time that this share of the jobs took at most, as near as the classes tell: even inside each class."""
    wanted = share * sum(jobs_by_class.values())
    passed = 0
    for number, jobs in sorted(jobs_by_class.items()):
        if jobs and passed + jobs >= wanted:
            return within(number, (wanted - passed) / jobs)
        passed += jobs
    return None


def within(number: int, share: float) -> float:
    if number >= len(BOUNDS):
        return BOUNDS[-1]  # longer than this is all that is known
    lower = BOUNDS[number - 1] if number else 0.0
    return lower + share * (BOUNDS[number] - lower)
