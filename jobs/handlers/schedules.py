"""When a periodic job is due: cron expressions in a time zone, or a fixed grid of seconds. Pure arithmetic.

The cron arithmetic is cronsim's, which does as Debian's cron does when clocks change. All moments here are in UTC.
"""

import difflib
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from itertools import takewhile
from zoneinfo import ZoneInfo, available_timezones

from cronsim import CronSim, CronSimError
from django.conf import settings

from jobs.duration_text import HOW, parse_duration, written
from jobs.exceptions import InvalidInput
from jobs.sanitise import printable

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)  # where every grid begins, so that all workers have the same
REFERENCE = datetime(2000, 1, 1, tzinfo=UTC)  # what never comes within 50 years from here is impossible
SHORTEST, LONGEST = timedelta(seconds=1), timedelta(days=3660)
MOST_LETTERS = 200
FIRST_WINDOW = timedelta(hours=1)
JUST = timedelta(microseconds=1)
EVERY = "every "
ALIASES = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}
EXAMPLES = "write five fields as in '0 3 * * *', a word such as '@daily', or 'every 15m'"


@dataclass(frozen=True)
class Schedule:
    """When something is due, for good: the same text and zone give the same ticks to everyone who asks."""

    text: str
    zone: ZoneInfo
    cron: str = ""
    every: timedelta | None = None

    def after(self, moment: datetime) -> datetime | None:
        """The first tick after this moment; None if there is none within 50 years."""
        return next(self.ticks_after(moment), None)

    def ticks_after(self, moment: datetime) -> Iterator[datetime]:
        if self.every:
            return self._grid_after(moment, self.every)
        return self._cron_after(moment)

    def _grid_after(self, moment: datetime, step: timedelta) -> Iterator[datetime]:
        tick = EPOCH + ((moment - EPOCH) // step + 1) * step
        while True:
            yield tick
            tick += step

    def _cron_after(self, moment: datetime) -> Iterator[datetime]:
        last = moment
        for local in CronSim(self.cron, moment.astimezone(self.zone)):
            tick = local.astimezone(UTC)
            if tick > last:  # asked in the second of two equal hours, cronsim begins with a tick of the first
                last = tick
                yield tick

    def latest(self, since: datetime, until: datetime, most: int) -> list[datetime]:
        """The last ticks from `since` to `until`, both included, oldest first. Looks no further back than needed."""
        window = FIRST_WINDOW if self.every is None else self.every * most
        while True:
            begin = max(since, until - window) if window < until - since else since
            ticks = list(takewhile(lambda tick: tick <= until, self.ticks_after(begin - JUST)))
            if len(ticks) >= most or begin == since:
                return ticks[-most:] if most else []
            window *= 2

    def words(self) -> str:
        """As people say it."""
        if self.every:
            return f"Every {written(self.every)}"
        return CronSim(self.cron, REFERENCE).explain()


def parse_schedule(text: str, timezone: str = "") -> Schedule:
    """Read a schedule; no time zone means the project's TIME_ZONE. Raises InvalidInput."""
    for what, given in (("schedule", text), ("time zone", timezone)):
        if not isinstance(given, str):
            raise InvalidInput(f"A {what} is text, not {type(given).__name__}: {EXAMPLES}.")
    return parse_in_zone(text, timezone or settings.TIME_ZONE)


@lru_cache(maxsize=1000)
def parse_in_zone(text: str, timezone: str) -> Schedule:
    zone = parse_zone(timezone)
    words = " ".join(text.split())
    if len(words) > MOST_LETTERS or not words.isprintable() or not words.isascii():
        raise refusal(text, "it is too long" if len(words) > MOST_LETTERS else "it has letters that no schedule has")
    if words.lower().startswith(EVERY):
        step = parse_every(words[len(EVERY) :])
        return Schedule(EVERY + written(step), zone, every=step)
    return Schedule(words, zone, cron=parse_cron(words))


def parse_cron(words: str) -> str:
    if words.startswith("@"):
        if words.lower() not in ALIASES:
            raise refusal(words, f"there is no {words}; choose from {', '.join(ALIASES)}")
        return ALIASES[words.lower()]
    fields = len(words.split())
    if fields != 5:
        raise refusal(words, f"it has {fields} fields; minute, hour, day of month, month and day of week are five")
    try:
        first = next(CronSim(words, REFERENCE), None)
    except CronSimError as error:
        raise refusal(words, trouble(words, str(error))) from None
    if first is None:
        raise refusal(words, "no such day comes within 50 years")
    return words


def trouble(words: str, said: str) -> str:
    """What is wrong, by cronsim's word for the field."""
    names = ("minute", "hour", "day-of-month", "month", "day-of-week")
    field = said.removeprefix("Bad ")
    if field not in names:
        return said
    written_so = words.split()[names.index(field)]
    if field == "day-of-month" and written_so.isdecimal() and int(written_so) in range(29, 32):
        return f"no month that it names has a day {written_so}"
    return f"{written_so!r} is no {field.replace('-', ' ')}"


def parse_every(given: str | float | timedelta) -> timedelta:
    try:
        step = (
            given if isinstance(given, timedelta) else parse_duration(given if isinstance(given, str) else f"{given:f}")
        )
    except ValueError:
        raise InvalidInput(f"every is {printable(given, 60)!r}, which is not a duration: {HOW}.") from None
    if not SHORTEST <= step <= LONGEST:
        raise InvalidInput(f"every is {written(step)}; it must be from 1 second to {LONGEST.days} days.")
    return step


def parse_zone(name: str) -> ZoneInfo:
    try:
        return ZoneInfo(name)
    except (LookupError, ValueError, OSError):  # a name that is no name may be a folder, or leave it
        raise InvalidInput(f"There is no time zone {printable(name, 60)!r}.{zone_hint(str(name))}") from None


def zone_hint(name: str) -> str:
    zones = available_timezones()
    if not zones:
        return " This machine has no time zones at all: install tzdata."
    close = difflib.get_close_matches(name, zones, n=1)
    return f" Did you mean {close[0]!r}?" if close else " Write it as in 'Europe/Berlin'."


def refusal(text: object, why: str) -> InvalidInput:
    return InvalidInput(f"The schedule {printable(text, 100)!r} cannot be used: {why}. Instead, {EXAMPLES}.")
