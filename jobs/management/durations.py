"""Durations as people write and read them: `90`, `15m`, `7d`, `1h30m`."""

import re
from datetime import datetime, timedelta

from django.utils import timezone

from jobs.sanitise import printable

UNITS = {"w": 604_800, "d": 86_400, "h": 3_600, "m": 60, "s": 1}
DURATION = re.compile(r"(?:\d{1,12}(?:\.\d{1,6})?[wdhms])+", re.ASCII)
PART = re.compile(r"(\d+(?:\.\d+)?)([wdhms])")
SECONDS = re.compile(r"\d{1,12}(?:\.\d{1,6})?", re.ASCII)
LONGEST = timedelta(days=36_500)  # so that a date so long ago is still one
HOW = "write seconds, or a number with s, m, h, d or w, as in 90, 15m, 1h30m or 7d, at most a hundred years"


def parse_duration(text: str) -> timedelta:
    """Read a duration; raises ValueError with a sentence that says how to write one."""
    word = text.strip().lower()
    if SECONDS.fullmatch(word):
        seconds = float(word)
    elif DURATION.fullmatch(word):
        seconds = sum(float(number) * UNITS[unit] for number, unit in PART.findall(word))
    else:
        raise ValueError(f"{printable(text, 60)!r} is not a duration: {HOW}")
    if seconds > LONGEST.total_seconds():
        raise ValueError(f"{printable(text, 60)!r} is too long a duration: {HOW}")
    return timedelta(seconds=seconds)


def human_duration(seconds: float) -> str:
    """The two largest units: 45s, 3m12s, 2h5m, 3d4h."""
    left = int(max(0.0, seconds))
    for unit, size, smaller in (("d", 86_400, "h"), ("h", 3_600, "m"), ("m", 60, "s")):
        if left >= size:
            number, rest = left // size, left % size // UNITS[smaller]
            return f"{number}{unit}{rest}{smaller}" if rest else f"{number}{unit}"
    return f"{left}s"


def clock_time(moment: datetime, now: datetime) -> str:
    """The local time of day, with the date unless it is today's."""
    local, today = timezone.localtime(moment), timezone.localtime(now).date()
    return local.strftime("%H:%M:%S" if local.date() == today else "%b %d %H:%M")


def full_time(moment: datetime | None) -> str:
    return timezone.localtime(moment).strftime("%Y-%m-%d %H:%M:%S %Z") if moment else ""
