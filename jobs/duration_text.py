"""Durations as people write them: `90`, `15m`, `7d`, `1h30m`."""

import re
from datetime import timedelta

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


def written(duration: timedelta) -> str:
    """As `parse_duration` reads it, with nothing lost: 1h30m, 1.5s."""
    days, seconds = duration.days, duration.seconds
    parts = [(days, "d"), (seconds // 3_600, "h"), (seconds % 3_600 // 60, "m")]
    rest = f"{seconds % 60}.{duration.microseconds:06}".rstrip("0").rstrip(".")
    text = "".join(f"{number}{unit}" for number, unit in parts if number)
    return text + (f"{rest}s" if rest != "0" or not text else "")
