"""What alerts are made of: the events since somebody last looked, and how the queue is."""

import time
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, NamedTuple

from django.db.models import Count, Exists
from django.db.models.functions import Left, Now

from jobs.lifecycle.raise_alerts import EVENTS
from jobs.models import Alert, AlertReading, AlertTotal, Job, JobEvent
from jobs.selectors.changes import Line, Moment, current_moment
from jobs.states import EventName, Hold, Status

OF_JOBS = (EventName.REAPED, EventName.FAILED)
OF_WORKERS = (EventName.WORKER_OFFLINE, EventName.WORKER_ONLINE)
MOST_EVENTS = 2000  # at once; the rest is for the next look
MOST_SUBJECTS = 50
LOOK_BACK = timedelta(days=1)  # for earlier failures of the same subject
ERROR_READ = 2000  # characters
ALERT_OUTCOMES = ("raised", "sent", "suppressed", "given_up")
SETTLE_TRIES, SETTLE_PAUSE = 10, 0.1


class Happened(NamedTuple):
    """An event, and what is to be known of its job; where it is a worker's, there is none."""

    name: str
    worker: str = ""
    reason: str = ""
    queue: str = ""
    job_id: int = 0
    kind: str = ""
    subject: str = ""
    attempts_left: int = 0
    error: str = ""


@dataclass(frozen=True)
class Standing:
    """How far alerts have come, and whether there is anything to look at."""

    position: int
    waiting: list[tuple[int, int]]
    has_due: bool  # an alert is to be sent
    is_busy: bool  # a job waits or runs


def standing() -> Standing | None:
    """In one query, for it is asked once a minute for good. None before the first look."""
    waits = Job.objects.filter(status=Status.PENDING, hold=Hold.NONE)
    rows: Any = AlertReading.objects.filter(pk=EVENTS).annotate(
        has_due=Exists(Alert.objects.filter(due_at__lte=Now())),
        waits=Exists(waits), runs=Exists(Job.objects.running()), due=Exists(Job.objects.due().order_by()),
    )  # fmt: skip
    row = rows.first()
    if row is None:
        return None
    waiting = [(number, newest) for number, newest in row.waiting]
    return Standing(row.position, waiting, row.has_due, row.waits or row.runs or row.due)


class Settled(NamedTuple):
    """Up to which event all can be seen, and what has to be waited for to see further."""

    position: int
    waiting: list[tuple[int, int]]


def settled(before: Standing, first: Moment) -> Settled:
    """An event gets its number before its transaction commits: wait a moment for those that are under way."""
    line = Line(before.position, _waiting=list(before.waiting))
    line.note(first)
    moment = first
    for _ in range(SETTLE_TRIES):
        if first.next_transaction <= moment.oldest_running:
            break
        time.sleep(SETTLE_PAUSE)
        moment = current_moment()
        line.note(moment)
    return Settled(max(before.position, line.safe or 0), line._waiting)


def events_between(after: int, up_to: int) -> tuple[list[Happened], int]:
    """What happened there that rules look at, and how far it was read: not to the end where it is very much."""
    rows = JobEvent.objects.filter(id__gt=after, id__lte=up_to, name__in=(*OF_JOBS, *OF_WORKERS)).order_by("id")
    events = list(rows[:MOST_EVENTS])
    read = events[-1].pk if len(events) == MOST_EVENTS else up_to
    jobs = jobs_of({event.job_id for event in events if event.job_id})
    return [happened(event, jobs.get(event.job_id or 0)) for event in events], read


def jobs_of(ids: Collection[int]) -> dict[int, Any]:
    if not ids:
        return {}
    jobs: Any = Job.objects.with_ids(ids).annotate(error=Left("last_error", ERROR_READ))
    return {row["pk"]: row for row in jobs.values("pk", "kind", "subject", "max_attempts", "error")}


def happened(event: JobEvent, job: Any) -> Happened:
    if job is None:  # a worker's, or of a job that was deleted meanwhile
        return Happened(event.name, event.worker_name, event.reason, event.queue, event.job_id or 0, attempts_left=1)
    left = job["max_attempts"] - (event.attempt or 0)
    return Happened(
        event.name, event.worker_name, event.reason, event.queue, event.job_id or 0, job["kind"], job["subject"], left,
        job["error"],
    )  # fmt: skip


def failures_of(subjects: Collection[tuple[str, str]]) -> dict[tuple[str, str], int]:
    """How often each (queue, subject) failed within a day; a job retried by hand may have failed more often."""
    chosen = sorted(subjects)[:MOST_SUBJECTS]
    if not chosen:
        return {}
    lately = Now() - LOOK_BACK
    jobs: Any = Job.objects.filter(
        status=Status.FAILED, stale_at=None, finished_at__gt=lately, subject__in={subject for _, subject in chosen}
    )
    about = {pk: (queue, subject) for pk, queue, subject in jobs.values_list("pk", "queue", "subject")[:MOST_EVENTS]}
    failed = JobEvent.objects.filter(job_id__in=list(about), name=EventName.FAILED, at__gt=lately)
    counted: Counter[tuple[str, str]] = Counter()
    for job_id, number in failed.order_by().values_list("job_id").annotate(number=Count("pk")):
        counted[about[job_id or 0]] += number
    return dict(counted)


def alert_totals() -> dict[tuple[str, str], int]:
    """By name and outcome."""
    return {
        (row.name, outcome): getattr(row, outcome) for row in AlertTotal.objects.all() for outcome in ALERT_OUTCOMES
    }
