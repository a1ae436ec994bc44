"""Durations as people write and read them."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.duration_text import LONGEST, parse_duration, written
from jobs.readable import human_duration


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("90", 90),
        ("0", 0),
        ("1.5", 1.5),
        ("15m", 900),
        ("7d", 604_800),
        ("1h30m", 5400),
        ("2w", 1_209_600),
        (" 5M ", 300),
    ],
)
def test_what_people_write_is_understood(text, seconds):
    assert parse_duration(text) == timedelta(seconds=seconds)


@pytest.mark.parametrize(
    "text", ["", " ", "-5", "5x", "m", "nan", "inf", "1e9", "5 m", "1m 5", "٣m", "101w5y", "99999999999w", "9" * 5000]
)
def test_what_is_no_duration_is_refused_with_the_way_to_write_one(text):
    with pytest.raises(ValueError, match="as in 90, 15m, 1h30m or 7d"):
        parse_duration(text)


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [(0, "0s"), (-5, "0s"), (59.9, "59s"), (60, "1m"), (192, "3m12s"), (7500, "2h5m"), (3600, "1h"), (273_600, "3d4h")],
)
def test_a_duration_is_shown_by_its_two_largest_units(seconds, shown):
    assert human_duration(seconds) == shown


@given(st.integers(0, int(LONGEST.total_seconds())))
def test_what_is_shown_can_be_written_again_and_loses_only_the_smaller_units(seconds):
    back = parse_duration(human_duration(seconds)).total_seconds()
    assert 0 <= seconds - back < 3600
    assert back >= seconds * 0.95


@given(st.timedeltas(timedelta(0), LONGEST))
def test_what_is_written_out_is_read_again_with_nothing_lost(duration):
    assert parse_duration(written(duration)) == duration
