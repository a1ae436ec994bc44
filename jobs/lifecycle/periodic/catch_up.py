"""Which of the ticks that are due become jobs: pure, and never a flood."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from jobs.handlers.schedules import JUST, Schedule
from jobs.states import CatchUp


@dataclass(frozen=True)
class Plan:
    """The ticks to enqueue, oldest first, and since when others were missed that are not made up for."""

    ticks: tuple[datetime, ...] = ()
    missed_from: datetime | None = None


def plan(schedule: Schedule, since: datetime, now: datetime, mode: CatchUp, *, limit: int, grace: timedelta) -> Plan:
    """`since` is the first tick that nobody has dealt with. What is found within the grace is late, not missed."""
    most = max(1, limit) if mode == CatchUp.ALL else 1
    found = schedule.latest(since, now, most + 1)
    ticks = found[-most:]
    if mode == CatchUp.NONE and ticks and now - ticks[-1] > grace:
        ticks = []
    some_left_out = bool(found) and (not ticks or found[0] < ticks[0])
    return Plan(tuple(ticks), schedule.after(since - JUST) if some_left_out else None)
