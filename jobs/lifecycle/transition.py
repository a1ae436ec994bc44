"""The one place where a job changes its status: row, counters and event together."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import timedelta
from functools import partial
from typing import Any, NamedTuple

from django.db import models
from django.db.models import Q

from jobs.db import Now, is_postgres, transactional
from jobs.exceptions import JobyardError
from jobs.given import Among, Given, GivenList
from jobs.lifecycle import announce, counts, events, limits, waiting, wake_up
from jobs.lifecycle.locked_job import AGE, EXPRESSIONS, LOCKED_COLUMNS, AnyJob
from jobs.lifecycle.sql.bound import Bound
from jobs.lifecycle.sql.built_once import Statement, built_once, update
from jobs.lifecycle.sql.insert import field_of
from jobs.lifecycle.sql.together import Writes, run_together
from jobs.models import Job, JobQuerySet, PhaseProgress, QualityProgress
from jobs.states import (
    TERMINAL,
    TRANSITIONS,
    UNFINISHED_PHASE,
    UNFINISHED_QUALITY,
    Bucket,
    EventName,
    Hold,
    PhaseStatus,
    QualityStatus,
    Status,
    bucket_of,
)

NO_CLAIM = {"claim_id": None, "worker_id": None, "claimed_at": None, "lease_expires_at": None, "unlisted_beats": 0}
NOTHING: Mapping[str, Any] = {}
# Made once: a statement is found again by its expressions, and to compare new ones takes as long as all else.
NOW = Now()
AFTER_DELAY = Now() + Given("delay", models.DurationField())


class TransitionRefused(JobyardError):
    """Job {job_id} is {status} and cannot become {to}."""


class MovedMeanwhile(JobyardError):
    """Of the jobs {jobs}, {number} changed while they were locked: a hook must not end, cancel or retry its own job."""


def lock(jobs: JobQuerySet, *, skip_locked: bool = False, limit: int | None = None) -> list[Job]:
    """Lock rows in id order, so that two verbs that want the same rows wait for each other and not in a circle.

    The conditions of `jobs` are the guard: PostgreSQL looks at them again once it has the lock, and SQLite
    holds the whole database. Nothing can change a locked row until the transaction ends.
    """
    locked = locking(jobs, skip_locked=skip_locked).only(*LOCKED_COLUMNS)
    return list(locked.annotate(age=AGE, limited=EXPRESSIONS["limited"])[:limit])  # type: ignore[no-redef]  # declared there for who gets one


def locking(jobs: JobQuerySet, *, skip_locked: bool = False) -> JobQuerySet:
    return jobs.order_by("id").select_for_update(no_key=True, skip_locked=skip_locked)


def move(
    jobs: Sequence[AnyJob],
    to: Status,
    event: EventName,
    *,
    reason: str = "",
    outcome: str = "",
    delay: float = 0,
    waits_for: int | None = None,
    given: Mapping[str, Any] = NOTHING,
    writes: Writes | None = None,
    **changes: Any,
) -> None:
    """Move locked jobs to a status, with the same changes for all of them; `given` is what those refer to.

    Pending ones may have a delay, or others to wait for. Who waited for jobs that end goes on, or ends, with them.
    With `writes`, what is to be written is added there, and the caller runs it together with more.
    """
    if not jobs:
        return
    collected = Writes() if writes is None else writes
    if waits_for is not None:
        changes["waits_for"] = waits_for
    hold = Hold.WAITING if waits_for else Hold.SCHEDULED if delay > 0 else Hold.NONE
    changes |= implied_by(to, hold)
    move_alone(collected, jobs, to, event, Told(reason, outcome), delay, given, changes)
    if to in TERMINAL and any(job.awaited for job in jobs):
        collected.then(partial(follow_end, jobs, to))
    if writes is None:
        collected.run()


class Told(NamedTuple):
    """What an event says beside its name."""

    reason: str
    outcome: str = ""


def move_alone(
    collected: Writes,
    jobs: Sequence[AnyJob],
    to: Status,
    event: EventName,
    words: Told,
    delay: float,
    given: Mapping[str, Any],
    changes: Mapping[str, Any],
) -> None:
    """Without those who wait for them."""
    for job in one_of_each_status(jobs):
        if to not in TRANSITIONS[Status(job.status)]:
            raise TransitionRefused(job_id=job.pk, status=job.status, to=to)
    ids = [job.pk for job in jobs]
    given = {"delay": timedelta(seconds=delay), **given}
    if to == Status.RUNNING:
        write_and_tell(collected, jobs, event, words, {"status": to, **changes}, given)
    else:  # the event names the holder, who is on the row until its claim ends
        collected.add(events.of_jobs(ids, event, reason=words.reason, outcome=words.outcome))
        write(collected, jobs, {"status": to, **changes}, given)
    if to in TERMINAL:
        collected.add(*announce.end_of(jobs, EventName(to)))
    hold = changes.get("hold", Hold.NONE)
    collected.add(*counted(jobs, bucket_of(to, hold), counts.happened(jobs, event)))
    if to != Status.RUNNING and (left := limits.leaving(jobs)):
        collected.then(partial(limits.freed, left))
    if to == Status.PENDING and hold != Hold.WAITING and delay <= wake_up.SOON:
        collected.add(*wake_up.sending(jobs))
        wake_up.hint(jobs)
    settle_parts(ids, to)


def follow_end(jobs: Sequence[AnyJob], to: Status) -> None:
    follow(waiting.note_end(jobs, to))


def follow(job_ids: Sequence[int], *, patient: bool = False) -> None:
    """Look at jobs that waited for others; those that end by it are followed in turn, however long the chain is."""
    while job_ids:
        found: set[int] = set()
        for doomed in waiting.let_go(job_ids, settle, patient=patient):
            writes, changes = Writes(), implied_by(doomed.to, Hold.NONE) | doomed.changes()
            move_alone(writes, doomed.jobs, doomed.to, doomed.event, Told(doomed.reason), 0, NOTHING, changes)
            writes.run()
            found.update(waiting.note_end(doomed.jobs, doomed.to))
        job_ids, patient = sorted(found), False


def settle(job_ids: Sequence[int]) -> None:
    """Look, in transactions of their own, at jobs that may have nobody to wait for."""
    for start in range(0, len(job_ids), waiting.AT_ONCE):
        settle_batch(job_ids[start : start + waiting.AT_ONCE])


@transactional
def settle_batch(job_ids: Sequence[int]) -> None:
    follow(job_ids, patient=True)


def rearrange(jobs: Sequence[AnyJob], event: EventName, *, reason: str = "", **changes: Any) -> None:
    """Change locked jobs that wait and go on waiting, in another place or with another hold."""
    if not jobs:
        return
    for job in jobs:
        if job.status != Status.PENDING:
            raise TransitionRefused(job_id=job.pk, status=job.status, to=Status.PENDING)
    ids = [job.pk for job in jobs]
    writes = Writes()
    writes.add(events.of_jobs(ids, event, reason=reason))
    write(writes, jobs, changes, NOTHING)
    writes.add(*recounted(jobs, changes.get("queue"), changes.get("hold")))
    writes.run()
    wake_up.send_if_soon(ids)


def write(
    writes: Writes,
    jobs: Sequence[AnyJob],
    changes: Mapping[str, Any],
    given: Mapping[str, Any],
    telling: bool = False,
) -> None:
    """Write the changes into the rows, which must still be as they were locked.

    Only this transaction itself can have changed them: then what it did is undone with it.
    """
    ids, claims = [job.pk for job in jobs], {job.claim_id for job in jobs}
    expressions = tuple((name, value if is_expression(value) else None) for name, value in changes.items())
    update = write_of(expressions, None in claims, telling).bound(
        ids=ids, claims=claims - {None}, statuses={job.status for job in jobs}, **given, **changes
    )
    writes.expect(len(ids), update, lambda moved: MovedMeanwhile(jobs=ids, number=len(ids) - moved))


def write_and_tell(
    writes: Writes,
    jobs: Sequence[AnyJob],
    event: EventName,
    words: Told,
    changes: Mapping[str, Any],
    given: Mapping[str, Any],
) -> None:
    """With the event that tells of the rows as they are then: by the same statement, where the engine can do that."""
    if is_postgres():
        write(writes, jobs, changes, {"event": event, "reason": words.reason, **given}, telling=True)
    else:
        write(writes, jobs, changes, given)
        writes.add(events.of_jobs([job.pk for job in jobs], event, reason=words.reason))


@built_once
def write_of(expressions: tuple[tuple[str, Any], ...], unclaimed: bool, telling: bool = False) -> Statement:
    """An expression is a part of the statement; any other value is given."""
    changes = {name: expression or Given(name, field_of(Job, name)) for name, expression in expressions}
    change = update(Job.objects.with_ids(GivenList("ids")).filter(as_locked(unclaimed)), changes)
    return events.telling(change) if telling else change


def one_of_each_status(jobs: Sequence[AnyJob]) -> Iterable[AnyJob]:
    return {job.status: job for job in jobs}.values()


def is_expression(value: Any) -> bool:
    return hasattr(value, "resolve_expression")


def as_locked(unclaimed: bool) -> Q:
    """Still in the status, and with the claim, that the rows were locked with."""
    held = Q(Among("claim_id", GivenList("claims")))
    return Q(held | Q(claim_id=None) if unclaimed else held, Among("status", GivenList("statuses")))


def implied_by(to: Status, hold: Hold) -> dict[str, Any]:
    """The columns that follow from the new status alone; claiming sets its own."""
    if to == Status.RUNNING:
        return {}
    if to in TERMINAL:
        return {**NO_CLAIM, "finished_at": NOW, "hold": Hold.NONE}
    return {
        **NO_CLAIM,
        "run_after": AFTER_DELAY,
        "hold": hold,
        "finished_at": None,
        "stale_at": None,
    }


def count(jobs: Sequence[AnyJob], into: Bucket | None) -> None:
    run_together(list(counted(jobs, into)))


def counted(jobs: Sequence[AnyJob], into: Bucket | None, tallies: counts.Tallies = counts.NOTHING) -> Iterator[Bound]:
    """Counts jobs out of the bucket they were in, and into another one (None: they are deleted)."""
    changes: Counter[tuple[str, Bucket]] = Counter()
    for (queue, status, hold), number in Counter((job.queue, job.status, job.hold) for job in jobs).items():
        changes[queue, bucket_of(status, hold)] -= number
        if into is not None:
            changes[queue, into] += number
    return counts.noted(changes, tallies)


def recounted(jobs: Sequence[AnyJob], queue: str | None, hold: str | None) -> Iterator[Bound]:
    """Counts waiting jobs out of where they were, and in where they wait now (None: as before)."""
    changes: Counter[tuple[str, Bucket]] = Counter()
    for (old, kept), number in Counter((job.queue, job.hold) for job in jobs).items():
        changes[old, bucket_of(Status.PENDING, kept)] -= number
        changes[queue or old, bucket_of(Status.PENDING, kept if hold is None else hold)] += number
    return counts.noted(changes)


def settle_parts(job_ids: Sequence[int], to: Status) -> None:
    """Phases and qualities follow their job. A phase cut off by a crash keeps saying running: that shows it."""
    if to in (Status.RUNNING, Status.COMPLETED):
        return
    phases = PhaseProgress.objects.filter(job__in=job_ids)
    qualities = QualityProgress.objects.filter(job__in=job_ids)
    if to == Status.CANCELLED:
        phases.filter(status__in=UNFINISHED_PHASE).update(status=PhaseStatus.CANCELLED, finished_at=Now())
        qualities.filter(status__in=UNFINISHED_QUALITY).update(status=QualityStatus.CANCELLED, finished_at=Now())
    elif to == Status.FAILED:
        phases.filter(status=PhaseStatus.RUNNING).update(status=PhaseStatus.FAILED, finished_at=Now())
        qualities.filter(status=QualityStatus.IN_PROGRESS).update(status=QualityStatus.FAILED, finished_at=Now())
    elif to == Status.PENDING:
        qualities.filter(status=QualityStatus.IN_PROGRESS).update(status=QualityStatus.PENDING)
