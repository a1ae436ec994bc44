"""How much room a limit leaves: at most so many at once, so many per period, only at some hours. Pure."""

import math
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo

from django.conf import settings

from jobs.models import Limit
from jobs.windows import Window, time_zone

Starts = list[list[float]]  # [when a slice of the period ends, how many started in it]
SLICES = 100  # of a period: what is remembered of its starts, so that a thousand of them are a hundred numbers


@dataclass
class Room:
    jobs: float
    opens_at: datetime | None = None  # when there is room again, where only time can make it


def room_of(limit: Limit, running: int, now: datetime) -> Room:
    """The room for jobs of one name; infinite where nothing but a number that it has not would bound it."""
    if limit.paused:
        return Room(0)
    if limit.window:
        window, local = Window.parse(limit.window), now.astimezone(zone_of(limit))
        if not window.is_open(local):
            return Room(0, window.opens_at(local))
    at_once = math.inf if limit.max_running is None else max(0, limit.max_running - running)
    if limit.rate_jobs is None:
        return Room(at_once)
    starts = recent(limit, now)
    left = max(0, limit.rate_jobs - sum(jobs for _, jobs in starts))
    opens_at = None if left or not starts else moment(starts[0][0]) + timedelta(seconds=limit.rate_seconds or 0)
    return Room(min(at_once, left), opens_at)


def zone_of(limit: Limit) -> tzinfo:
    return time_zone(limit.time_zone or settings.TIME_ZONE)


def moment(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)


def recent(limit: Limit, now: datetime) -> Starts:
    """What started within the last period."""
    since = now.timestamp() - (limit.rate_seconds or 0)
    return [[when, jobs] for when, jobs in limit.starts if when > since]


def with_starts(limit: Limit, now: datetime, jobs: int) -> Starts:
    """Counted to the end of their slice: a hundredth of a period late, and never too early."""
    width = (limit.rate_seconds or 0) / SLICES
    end = math.ceil(now.timestamp() / width) * width
    starts = recent(limit, now)
    if starts and starts[-1][0] >= end:
        return [*starts[:-1], [starts[-1][0], starts[-1][1] + jobs]]
    return [*starts, [end, jobs]]
