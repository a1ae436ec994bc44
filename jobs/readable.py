"""Durations and moments as people read them, on a terminal and in the admin: `45s`, `2h5m`."""

from datetime import datetime

from django.utils import timezone

SECONDS_IN = {"h": 3_600, "m": 60, "s": 1}


def human_duration(seconds: float) -> str:
    """The two largest units: 45s, 3m12s, 2h5m, 3d4h."""
    left = int(max(0.0, seconds))
    for unit, size, smaller in (("d", 86_400, "h"), ("h", 3_600, "m"), ("m", 60, "s")):
        if left >= size:
            number, rest = left // size, left % size // SECONDS_IN[smaller]
            return f"{number}{unit}{rest}{smaller}" if rest else f"{number}{unit}"
    return f"{left}s"


def brief_duration(seconds: float | None) -> str:
    """With milliseconds where it is short: 12 ms, 3.4 s, 3m12s."""
    if seconds is None:
        return "–"
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    return f"{seconds:.1f} s" if seconds < 60 else human_duration(seconds)


def clock_time(moment: datetime, now: datetime) -> str:
    """The local time of day, with the date unless it is today's."""
    local, today = timezone.localtime(moment), timezone.localtime(now).date()
    return local.strftime("%H:%M:%S" if local.date() == today else "%b %d %H:%M")


def full_time(moment: datetime | None) -> str:
    return timezone.localtime(moment).strftime("%Y-%m-%d %H:%M:%S %Z") if moment else ""


def per_minute(number: float) -> str:
    """Whole where it is large, with a digit where that is all there is."""
    return f"{number:,.0f}" if number >= 10 or not number else f"{number:.1f}"


def told_empty_in(minutes: float | None, pending: int) -> str:
    """When a queue will be empty at its present pace."""
    if not pending:
        return "empty"
    return "not at this pace" if minutes is None else human_duration(minutes * 60)
