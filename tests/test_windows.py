"""Windows: open from one time of the day to another, over midnight and when clocks are changed, too."""

from datetime import UTC, datetime

import pytest

from jobs.exceptions import InvalidInput
from jobs.windows import Window, time_zone

pytestmark = pytest.mark.once
BERLIN = time_zone("Europe/Berlin")


@pytest.mark.parametrize(
    ("window", "hour", "is_open"),
    [
        ("22:00-06:00", 21, False), ("22:00-06:00", 22, True), ("22:00-06:00", 5, True), ("22:00-06:00", 6, False),
        ("09:00-17:00", 8, False), ("09:00-17:00", 9, True), ("09:00-17:00", 17, False),
    ],
)  # fmt: skip
def test_it_is_open_between_its_times(window, hour, is_open):
    assert Window.parse(window).is_open(datetime(2026, 5, 1, hour, tzinfo=BERLIN)) is is_open


def test_it_opens_at_the_next_time_on_the_wall():
    window = Window.parse("22:00-06:00")
    assert window.opens_at(datetime(2026, 5, 1, 12, tzinfo=BERLIN)) == datetime(2026, 5, 1, 20, tzinfo=UTC)
    assert Window.parse("09:00-17:00").opens_at(datetime(2026, 5, 1, 18, tzinfo=BERLIN)) == datetime(
        2026, 5, 2, 7, tzinfo=UTC
    )


def test_when_the_clock_is_put_forward_it_still_opens_by_the_wall():
    """On 29 March 2026 the hour after two is left out: from 18:00 on the 28th to 09:00 are fourteen hours."""
    opens = Window.parse("09:00-17:00").opens_at(datetime(2026, 3, 28, 18, tzinfo=BERLIN))
    assert opens == datetime(2026, 3, 29, 7, tzinfo=UTC)


@pytest.mark.parametrize("text", ["", "22-6", "22:00", "24:00-06:00", "22:60-06:00", "22:00-22:00", "22:00-06:00 "])
def test_what_is_no_window_is_refused(text):
    with pytest.raises(InvalidInput, match="window"):
        Window.parse(text)
