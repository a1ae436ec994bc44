"""A window: the hours of the day in which something may run, as in 22:00-06:00. Pure."""

import re
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from jobs.exceptions import InvalidInput

WRITTEN = re.compile(r"([01]\d|2[0-3]):([0-5]\d)-([01]\d|2[0-3]):([0-5]\d)")


@dataclass(frozen=True)
class Window:
    begins: time
    ends: time

    @classmethod
    def parse(cls, text: str) -> "Window":
        match = WRITTEN.fullmatch(text)
        if not match:
            raise InvalidInput(f"The window {text!r} is not two times of a day, as in 22:00-06:00.")
        hour, minute, end_hour, end_minute = map(int, match.groups())
        begins, ends = time(hour, minute), time(end_hour, end_minute)
        if begins == ends:
            raise InvalidInput(f"The window {text!r} begins when it ends; leave it out where any time is good.")
        return cls(begins, ends)

    def is_open(self, now: datetime) -> bool:
        """`now` in the time zone of the window."""
        clock = now.time()
        if self.begins < self.ends:
            return self.begins <= clock < self.ends
        return clock >= self.begins or clock < self.ends

    def opens_at(self, now: datetime) -> datetime:
        """The next time that it begins, in UTC; by the clock on the wall, also where that is put forward or back."""
        today = now.replace(hour=self.begins.hour, minute=self.begins.minute, second=0, microsecond=0)
        begins = today if today.astimezone(UTC) > now.astimezone(UTC) else today + timedelta(days=1)
        return begins.astimezone(UTC)


def time_zone(name: str) -> ZoneInfo:
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise InvalidInput(f"There is no time zone {name!r}; write it as in Europe/Berlin.") from None
