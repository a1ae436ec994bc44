"""Periodic jobs as people look at them: in which state each is, its next ticks, and what became of the last ones."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from itertools import islice
from typing import Any

from django.conf import settings

from jobs.exceptions import InvalidInput, PeriodicJobNotFound
from jobs.handlers.periodic import TERMS
from jobs.handlers.registry import registry
from jobs.handlers.schedules import EVERY
from jobs.lifecycle.payload import unstorable
from jobs.models import Job, PeriodicJob, PeriodicTick
from jobs.selectors.job_pages import LARGE


class PeriodicState(StrEnum):
    """What people are shown: derived, never stored."""

    ON = "on"
    OFF = "off"
    GONE = "gone"  # the code declares it no more
    UNKNOWN = "no_handler"  # of its kind, in this process
    BROKEN = "broken"  # its schedule cannot be read any more


@dataclass(frozen=True)
class ShownPeriodic:
    row: PeriodicJob
    state: PeriodicState
    last_job: Any  # with its state; None: there was none, or it has been deleted

    @property
    def origin(self) -> str:
        """Who says how it is."""
        if self.row.declared is None:
            return "made by hand"
        return "code, edited" if self.row.edited else "code"

    @property
    def words(self) -> str:
        """Its schedule as people say it."""
        try:
            return self.row.when().words()
        except InvalidInput as error:
            return str(error)

    @property
    def goes_by_the_wall(self) -> bool:
        """Whether its time zone matters: a grid of seconds is the same everywhere."""
        return not self.row.schedule.startswith(EVERY)

    @property
    def zone(self) -> str:
        return self.row.timezone or settings.TIME_ZONE


def list_periodic() -> list[ShownPeriodic]:
    rows = list(PeriodicJob.objects.order_by("name"))
    jobs = jobs_of({row.last_job_id for row in rows})
    return [shown(row, jobs) for row in rows]


def get_periodic(name: str) -> ShownPeriodic:
    row = None if unstorable(name) else PeriodicJob.objects.filter(name=name).first()
    if row is None:
        raise PeriodicJobNotFound(name=name)
    return shown(row, jobs_of({row.last_job_id}))


def shown(row: PeriodicJob, jobs: dict[int, Any]) -> ShownPeriodic:
    return ShownPeriodic(row, state_of(row), jobs.get(row.last_job_id or 0))


def state_of(row: PeriodicJob) -> PeriodicState:
    if row.gone_at:
        return PeriodicState.GONE
    if not row.enabled:
        return PeriodicState.OFF
    if registry.find(row.kind) is None:
        return PeriodicState.UNKNOWN
    return PeriodicState.ON if row.next_at else PeriodicState.BROKEN


def jobs_of(job_ids: Iterable[int | None]) -> dict[int, Any]:
    """Jobs with their states; one that has been deleted is left out."""
    wanted = [job_id for job_id in job_ids if job_id]
    return {job.pk: job for job in Job.objects.with_ids(wanted).with_state().defer(*LARGE)}


def latest_ticks(row: PeriodicJob, limit: int = 50) -> list[tuple[PeriodicTick, Any]]:
    """What became of its ticks, the latest first, each with its job if that is still there."""
    ticks = list(row.ticks.order_by("-tick_at")[:limit])
    jobs = jobs_of(tick.job_id for tick in ticks)
    return [(tick, jobs.get(tick.job_id or 0)) for tick in ticks]


def next_ticks(row: PeriodicJob, now: datetime, number: int = 5) -> list[datetime]:
    """When it will be due, in its own time zone."""
    try:
        schedule = row.when()
    except InvalidInput:
        return []
    return [tick.astimezone(schedule.zone) for tick in islice(schedule.ticks_after(now), number)]


def edits(row: PeriodicJob) -> list[tuple[str, Any, Any]]:
    """What an operator has set otherwise than the code: its name, what it is now, what the code says."""
    declared = row.declared or {}
    return [(term, getattr(row, term), declared.get(term)) for term in TERMS if term in row.edited]
