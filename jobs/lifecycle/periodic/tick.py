"""Tick: what is due is enqueued, each tick once, however many workers and crons look at the same time.

A row is locked while its ticks become jobs, and says in the same transaction which tick is next. Should a row be
removed and declared anew, the jobs' dedupe keys, which are unique for ever, keep its ticks from being enqueued again.
"""

import logging
from dataclasses import asdict, dataclass, field
from datetime import datetime, timedelta
from typing import Any

from django.db.models import DurationField, ExpressionWrapper, F, Q

from jobs.conf import conf
from jobs.db import Now, is_passing, transactional
from jobs.exceptions import InvalidInput
from jobs.handlers.registry import registry
from jobs.lifecycle.enqueue import enqueue
from jobs.lifecycle.periodic.catch_up import Plan, plan
from jobs.models import Job, PeriodicJob, PeriodicTick
from jobs.states import ACTIVE, CatchUp, TickOutcome, Unique

logger = logging.getLogger("jobs.periodic")

AT_ONCE = 200
TICKS_KEPT = 100  # of each periodic job
AFTER_FAILURE = 5.0  # seconds until a row that could not be dealt with is tried again


@dataclass
class TickResult:
    """What one look did: ids of the new jobs, names by what else became of them, and when to look again."""

    enqueued: list[int] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)
    missed: list[str] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    next_in: float | None = None  # seconds; None: nothing will be due

    @property
    def is_news(self) -> bool:
        return bool(self.enqueued or self.skipped or self.missed or self.refused or self.failed)

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def tick_once() -> TickResult:
    """Enqueue what is due, of the kinds that have a handler here; costs one query while nothing is."""
    result = TickResult()
    waits = upcoming()
    due = [name for name, wait in waits if wait <= 0]
    for name in due:
        tick_or_tell(name, result)
    if due:
        waits = upcoming()
    soonest = waits[0][1] if waits else None
    result.next_in = max(soonest, AFTER_FAILURE) if soonest is not None and result.failed else soonest
    return result


def upcoming() -> list[tuple[str, float]]:
    """Names with the seconds until they are due, by the database's clock, the first ones first.

    A kind that has no handler here is left to those who have: it may be another machine's, or of a newer release.
    """
    wait = ExpressionWrapper(F("next_at") - Now(), output_field=DurationField())
    known = PeriodicJob.objects.ticking().filter(kind__in=[kind.name for kind in registry])
    rows: Any = known.annotate(wait=wait).order_by("next_at", "pk").values_list("name", "wait")
    return [(name, left.total_seconds()) for name, left in rows[:AT_ONCE]]


def tick_or_tell(name: str, result: TickResult) -> None:
    """One that cannot be dealt with holds up no other; an outage of the database is the caller's business."""
    try:
        tick(name, result)
    except Exception as error:
        if is_passing(error):
            raise
        logger.exception("periodic job could not be dealt with name=%s", name)
        result.failed.append(name)


def tick(name: str, result: TickResult) -> None:
    done = tick_row(name)
    for tick in done:
        if tick.outcome == TickOutcome.ENQUEUED:
            assert tick.job_id
            result.enqueued.append(tick.job_id)
        else:
            getattr(result, tick.outcome).append(name)
            level = logging.INFO if is_as_asked(tick) else logging.WARNING
            due = tick.tick_at.isoformat()
            logger.log(level, "periodic tick %s name=%s tick=%s reason=%r", tick.outcome, name, due, tick.reason)


def is_as_asked(tick: PeriodicTick) -> bool:
    """One at a time, or none that was missed: whoever asked for it need not be warned of it."""
    unwanted = tick.outcome == TickOutcome.MISSED and mode_of(tick.periodic) == CatchUp.NONE
    return unwanted or tick.outcome == TickOutcome.SKIPPED


def mode_of(row: PeriodicJob) -> CatchUp:
    return CatchUp(row.catch_up or conf.PERIODIC_CATCH_UP)


@transactional
def tick_row(name: str) -> list[PeriodicTick]:
    """Deal with one that is due, unless somebody else is at it or has been."""
    due: Any = PeriodicJob.objects.filter(name=name, next_at__lte=Now()).annotate(now=Now())
    row = due.select_for_update(skip_locked=True, no_key=True).first()
    if row is None:
        return []
    try:
        schedule = row.when()
    except InvalidInput as error:  # its time zone was there when it was stored
        return [give_up(row, str(error))]
    mode = mode_of(row)
    grace = timedelta(seconds=conf.PERIODIC_GRACE)
    wanted = plan(schedule, row.next_at, row.now, mode, limit=conf.PERIODIC_CATCH_UP_LIMIT, grace=grace)
    ticks = [*missed(row, wanted), *(become_job(row, at) for at in wanted.ticks)]
    row.next_at = schedule.after(row.now)
    row.save(update_fields=["next_at", "last_at", "last_job_id", "problem"])
    keep(row, ticks)
    return ticks


def missed(row: PeriodicJob, wanted: Plan) -> list[PeriodicTick]:
    if wanted.missed_from is None:
        return []
    until = f"before {wanted.ticks[0].isoformat()}" if wanted.ticks else "until now"
    reason = f"this one and all {until} were missed, and get no job of their own"
    return [PeriodicTick(periodic=row, tick_at=wanted.missed_from, outcome=TickOutcome.MISSED, reason=reason)]


def become_job(row: PeriodicJob, at: datetime) -> PeriodicTick:
    tick = PeriodicTick(periodic=row, tick_at=at, outcome=TickOutcome.ENQUEUED)
    if busy := unended_job(row):
        tick.outcome, tick.reason = TickOutcome.SKIPPED, f"job {busy} had not ended"
        return tick
    try:
        key = f"periodic {row.name} {at.isoformat()}"
        tick.job_id = enqueue_for(row, dedupe_key=key, unique=Unique.EVER)
    except InvalidInput as error:
        tick.outcome, tick.reason, row.problem = TickOutcome.REFUSED, str(error), str(error)
        return tick
    row.last_at, row.last_job_id, row.problem = at, tick.job_id, ""
    return tick


def enqueue_for(row: PeriodicJob, **options: Any) -> int:
    return enqueue(
        row.kind, row.payload, queue=row.queue or None, priority=row.priority, subject=row.name, **options
    ).job_id


def unended_job(row: PeriodicJob) -> int | None:
    """The job that keeps the next one waiting, where there may be only one at a time."""
    if row.overlap:
        return None
    of_ticks = PeriodicTick.objects.filter(periodic=row, job_id__isnull=False).values("job_id")
    jobs = Job.objects.filter(Q(pk=row.last_job_id) | Q(pk__in=of_ticks), status__in=ACTIVE)
    return jobs.order_by("-pk").values_list("pk", flat=True).first()


def give_up(row: PeriodicJob, why: str) -> PeriodicTick:
    """No tick can be told any more: it rests until somebody edits it."""
    assert row.next_at
    tick = PeriodicTick(periodic=row, tick_at=row.next_at, outcome=TickOutcome.REFUSED, reason=why)
    row.next_at, row.problem = None, why
    row.save(update_fields=["next_at", "problem"])
    keep(row, [tick])
    return tick


def keep(row: PeriodicJob, ticks: list[PeriodicTick]) -> None:
    """The history of a periodic job: its latest ticks."""
    PeriodicTick.objects.bulk_create(ticks, ignore_conflicts=True)
    latest = PeriodicTick.objects.filter(periodic=row).order_by("-tick_at")
    oldest_kept = latest.values("tick_at")[TICKS_KEPT - 1 : TICKS_KEPT]
    PeriodicTick.objects.filter(periodic=row, tick_at__lt=oldest_kept).delete()
