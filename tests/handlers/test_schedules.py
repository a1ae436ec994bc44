"""When a schedule is due: cron in a time zone, clocks that change, leap days, fixed grids, and what is refused."""

from datetime import UTC, datetime, timedelta
from itertools import islice, takewhile
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jobs.exceptions import InvalidInput
from jobs.handlers.schedules import ALIASES, EPOCH, parse_schedule

BERLIN, NEW_YORK = "Europe/Berlin", "America/New_York"


def local(text: str, zone: str, fold: int = 0) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=ZoneInfo(zone), fold=fold)


def ticks(schedule: str, zone: str, since: str, number: int) -> list[str]:
    """As the clocks on the wall show them, with what they are ahead of UTC."""
    found = islice(parse_schedule(schedule, zone).ticks_after(local(since, zone)), number)
    return [tick.astimezone(ZoneInfo(zone)).strftime("%m-%d %H:%M %z") for tick in found]


@pytest.mark.parametrize(
    ("schedule", "zone", "since", "expected"),
    [
        # The hour that is skipped: what was due in it runs when it is over, once.
        ("30 2 * * *", BERLIN, "2026-03-28 12:00", ["03-29 03:00 +0200", "03-30 02:30 +0200"]),
        ("0,30 2 * * *", BERLIN, "2026-03-28 12:00", ["03-29 03:00 +0200", "03-30 02:00 +0200"]),
        ("30 2 * * *", NEW_YORK, "2026-03-07 12:00", ["03-08 03:00 -0400", "03-09 02:30 -0400"]),
        # The hour that comes twice: a fixed time is due in the first of them.
        ("30 2 * * *", BERLIN, "2026-10-24 12:00", ["10-25 02:30 +0200", "10-26 02:30 +0100"]),
        ("30 1 * * *", NEW_YORK, "2026-10-31 12:00", ["11-01 01:30 -0400", "11-02 01:30 -0500"]),
        # What is due every hour goes by the hours that pass.
        ("30 * * * *", BERLIN, "2026-10-25 01:45", ["10-25 02:30 +0200", "10-25 02:30 +0100", "10-25 03:30 +0100"]),
        ("30 * * * *", BERLIN, "2026-03-29 00:45", ["03-29 01:30 +0100", "03-29 03:30 +0200"]),
        # Three in the morning stays three in the morning.
        ("0 3 * * *", BERLIN, "2026-03-28 12:00", ["03-29 03:00 +0200"]),
        ("0 3 * * *", BERLIN, "2026-10-24 12:00", ["10-25 03:00 +0100"]),
        # Where midnight itself is skipped.
        ("@daily", "America/Havana", "2026-03-07 12:00", ["03-08 01:00 -0400", "03-09 00:00 -0400"]),
        # Leap days, last days, last and n-th weekdays.
        ("0 0 29 2 *", "UTC", "2026-01-01 00:00", ["02-29 00:00 +0000"]),
        ("0 0 L * *", "UTC", "2028-02-01 00:00", ["02-29 00:00 +0000", "03-31 00:00 +0000"]),
        ("0 0 * * 5L", "UTC", "2026-11-01 00:00", ["11-27 00:00 +0000", "12-25 00:00 +0000"]),
        ("0 0 * * MON#1", "UTC", "2026-11-01 00:00", ["11-02 00:00 +0000", "12-07 00:00 +0000"]),
        ("*/20 9-10 * * mon-fri", "UTC", "2026-11-13 10:30", ["11-13 10:40 +0000", "11-16 09:00 +0000"]),
        ("@hourly", "Asia/Kathmandu", "2026-11-01 00:30", ["11-01 01:00 +0545"]),
    ],
)  # fmt: skip
def test_what_is_due_when(schedule, zone, since, expected):
    assert ticks(schedule, zone, since, len(expected)) == expected


def test_asked_in_the_second_of_two_equal_hours_the_first_one_s_tick_is_not_due_again():
    schedule = parse_schedule("30 2 * * *", BERLIN)
    asked = local("2026-10-25 02:15", BERLIN, fold=1).astimezone(UTC)
    assert schedule.after(asked) == local("2026-10-26 02:30", BERLIN)


@pytest.mark.parametrize("alias", ALIASES)
def test_words_stand_for_schedules(alias):
    now = datetime(2026, 11, 16, 18, 20, tzinfo=UTC)
    assert parse_schedule(alias.upper()).after(now) == parse_schedule(ALIASES[alias]).after(now)


def test_a_day_is_either_named_day_if_both_are_named():
    assert ticks("0 0 13 * 5", "UTC", "2026-11-01 00:00", 3) == [f"11-{day} 00:00 +0000" for day in ("06", "13", "20")]


@pytest.mark.parametrize(
    ("text", "shown", "words"),
    [
        ("every 90", "every 1m30s", "Every 1m30s"),
        ("  Every   1h30m ", "every 1h30m", "Every 1h30m"),
        ("every 1.5", "every 1.5s", "Every 1.5s"),
        (" 0  3 * * * ", "0 3 * * *", "At 03:00 every day"),
    ],
)
def test_a_schedule_has_one_way_to_be_written(text, shown, words):
    schedule = parse_schedule(text)
    assert (schedule.text, schedule.words()) == (shown, words)
    assert parse_schedule(schedule.text) == schedule


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "it has 0 fields"),
        ("* * * *", "it has 4 fields"),
        ("* * * * * *", "it has 6 fields; minute, hour, day of month, month and day of week are five"),
        ("60 * * * *", "'60' is no minute"),
        ("* 24 * * *", "'24' is no hour"),
        ("* * 0 * *", "'0' is no day of month"),
        ("* * * 13 *", "'13' is no month"),
        ("* * * * 8", "'8' is no day of week"),
        ("*/0 * * * *", "'*/0' is no minute"),
        ("5-1 * * * *", "'5-1' is no minute"),
        ("0 0 30 2 *", "no month that it names has a day 30"),
        ("0 0 31 2,4,6 *", "no month that it names has a day 31"),
        ("0 0 */31 2 MON#5", "no such day comes within 50 years"),
        ("@reboot", "there is no @reboot; choose from @yearly"),
        ("½ * * * *", "it has letters that no schedule has"),
        ("0\x000 * * *", "it has letters that no schedule has"),
        ("1," * 200 + "1 * * * *", "it is too long"),
        ("every", "it has 1 fields"),
        ("every fortnight", "every is 'fortnight', which is not a duration"),
        ("every 0.5", "every is 0.5s; it must be from 1 second"),
        ("every 0", "it must be from 1 second"),
        ("every 5000d", "every is 5000d; it must be"),
    ],
)
def test_what_cannot_be_is_refused_with_the_reason(text, said):
    with pytest.raises(InvalidInput) as caught:
        parse_schedule(text)
    assert said in str(caught.value)


@pytest.mark.parametrize("wrong", [None, 5, b"* * * * *", ["* * * * *"]])
def test_a_schedule_is_text(wrong):
    with pytest.raises(InvalidInput, match="A schedule is text, not"):
        parse_schedule(wrong)
    with pytest.raises(InvalidInput, match="A time zone is text, not"):
        parse_schedule("@daily", wrong)


@pytest.mark.parametrize(
    ("zone", "said"),
    [
        ("Europe/Berlinn", "Did you mean 'Europe/Berlin'?"),
        ("Mars", "There is no time zone 'Mars'."),
        ("America", "There is no time zone 'America'."),
        ("../../etc/passwd", "There is no time zone"),
        ("/etc/localtime", "There is no time zone"),
        ("a\x00b", "There is no time zone"),
    ],
)
def test_a_time_zone_that_is_none_is_refused(zone, said):
    with pytest.raises(InvalidInput) as caught:
        parse_schedule("@daily", zone)
    assert said in str(caught.value)


def test_without_a_time_zone_the_project_s_counts(settings):
    noon = datetime(2026, 11, 16, 12, tzinfo=UTC)
    settings.TIME_ZONE = "Asia/Tokyo"
    assert parse_schedule("0 0 * * *").after(noon) == datetime(2026, 11, 16, 15, tzinfo=UTC)


ZONE = st.sampled_from(["UTC", BERLIN, NEW_YORK, "Australia/Lord_Howe", "America/Havana", "Asia/Kathmandu"])
# Around days when clocks change in these zones, and anywhere in three years.
MOMENTS = st.one_of(
    st.datetimes(datetime(2026, 3, 7), datetime(2026, 3, 10)),
    st.datetimes(datetime(2026, 3, 28), datetime(2026, 4, 6)),
    st.datetimes(datetime(2026, 10, 3), datetime(2026, 11, 2)),
    st.datetimes(datetime(2026, 1, 1), datetime(2028, 12, 31)),
).map(lambda moment: moment.replace(tzinfo=UTC))
CRONS = st.tuples(
    st.sampled_from(["0", "30", "*", "*/15", "0,45", "5-20/5"]),
    st.sampled_from(["*", "0", "2", "1-3", "*/6", "2,14", "23"]),
    st.sampled_from(["*", "*", "*", "1", "L", "25-31", "*/10"]),
    st.sampled_from(["*", "*", "3,10,11", "2"]),
    st.sampled_from(["*", "*", "SUN", "1-5", "0#1", "0L"]),
).map(" ".join)


def comes(cron: str) -> bool:
    """No last Sunday of a February is its 1st, 11th or 21st."""
    return not cron.endswith("*/10 2 0L")


GRIDS = st.integers(1, 100_000).map(lambda seconds: f"every {seconds}")
SCHEDULES = st.builds(parse_schedule, st.one_of(CRONS.filter(comes), GRIDS), ZONE)
SPANS = st.sampled_from([0.5, 1, 3, 30]).map(lambda hours: timedelta(hours=hours))
MANY = 400


def between(schedule, since, until):
    """All ticks after the one and up to the other, as far as a test wants to count."""
    return list(islice(takewhile(lambda tick: tick <= until, schedule.ticks_after(since)), MANY))


@settings(max_examples=75, deadline=None)
@given(SCHEDULES, MOMENTS, SPANS, SPANS)
def test_whenever_they_are_asked_for_the_ticks_are_the_same(schedule, begin, first, second):
    middle, end = begin + first, begin + first + second
    at_once = between(schedule, begin, end)
    by_parts = between(schedule, begin, middle) + between(schedule, middle, end)
    if len(at_once) < MANY:
        assert at_once == by_parts
    assert all(early < late for early, late in zip([begin, *at_once], at_once, strict=False))


@settings(max_examples=50, deadline=None)
@given(SCHEDULES, MOMENTS, SPANS, st.integers(0, 12))
def test_the_latest_are_the_last_of_all(schedule, since, span, most):
    until = since + span
    everything = between(schedule, since - timedelta(microseconds=1), until)
    if len(everything) < MANY:
        assert schedule.latest(since, until, most) == (everything[-most:] if most else [])


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 59), st.integers(0, 23), st.sampled_from(["*", "*/5"]), st.booleans(), MOMENTS, ZONE)
def test_a_tick_is_when_the_clock_on_the_wall_shows_it(minute, hour, steps, fixed, begin, zone):
    """Fixed times, but on days when clocks change; what goes by minutes, always, and with no gap."""
    schedule = parse_schedule(f"{minute if fixed else steps} {'*' if not fixed else hour} * * *", zone)
    tick = schedule.after(begin)
    assert tick is not None
    shown = tick.astimezone(ZoneInfo(zone))
    clocks_change = shown.utcoffset() != (shown - timedelta(hours=3)).utcoffset() or shown.utcoffset() != (
        shown + timedelta(hours=3)
    ).utcoffset()  # fmt: skip
    if fixed and not clocks_change:
        assert (shown.hour, shown.minute) == (hour, minute)
    elif not fixed:
        assert shown.minute % (5 if steps == "*/5" else 1) == 0
        assert tick - begin <= timedelta(minutes=5)


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 10**8).map(lambda tenths: timedelta(seconds=max(1, tenths / 10))), MOMENTS)
def test_a_grid_is_the_same_for_all_whenever_they_begin(step, moment):
    schedule = parse_schedule(f"every {step.total_seconds():f}")
    tick = schedule.after(moment)
    assert tick is not None
    assert (tick - EPOCH) % step == timedelta(0)
    assert timedelta(0) < tick - moment <= step


@settings(max_examples=300, deadline=None)
@given(st.text(alphabet="0123456789*/,-#LWMONJAR @every½\x00", max_size=40))
def test_whatever_is_written_it_is_a_schedule_or_refused(text):
    try:
        schedule = parse_schedule(text)
    except InvalidInput:
        return
    assert schedule.after(datetime(2026, 1, 1, tzinfo=UTC))
    assert schedule.words()


def test_a_year_of_seconds_is_not_counted_one_by_one():
    end = datetime(2027, 1, 1, tzinfo=UTC)
    for text in ("every 1", "* * * * *", "0 0 * * *"):
        found = parse_schedule(text).latest(datetime(2026, 1, 1, tzinfo=UTC), end, 3)
        assert len(found) == 3
        assert found[-1] == end
