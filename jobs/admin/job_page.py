"""What the page of a job shows: everything there is of it, the attempts one by one."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.template.defaultfilters import filesizeformat

from jobs.models import JobEvent, Worker
from jobs.readable import full_time, human_duration
from jobs.selectors.clock import database_now
from jobs.selectors.deliveries import deliveries_of
from jobs.selectors.limits import why_waiting
from jobs.selectors.qualities import qualities_of
from jobs.selectors.timeline import latest_events
from jobs.selectors.workflows import workflow_of
from jobs.states import EventName

MOST_EVENTS = 500
BAD = (EventName.FAILED, EventName.RETRYING, EventName.REAPED, EventName.WEBHOOK_FAILED)


@dataclass
class Chapter:
    """Events that belong together: an attempt, or what happened between two."""

    attempt: int
    worker_id: Any = None
    worker_name: str = ""
    events: list[JobEvent] = field(default_factory=list)


def page_context(job: Any) -> dict[str, Any]:
    now, events = database_now(), latest_events(job, MOST_EVENTS + 1)
    workers = Worker.objects.in_bulk({event.worker_id for event in events if event.worker_id} | {job.last_worker_id})
    return {
        "job": job,
        "now": now,
        "facts": list(facts(job)),
        "waits_for": why_waiting([job]).get(job.pk, ""),
        "workflow": workflow_of(job),
        "moments": [(name, moment) for name, moment in moments(job) if moment],
        "claim": claim(job, now),
        "holder": workers.get(job.last_worker_id),
        "known_workers": set(workers),
        "phases": list(job.phases.select_related("job")),
        "qualities": qualities_of([job.pk])[job.pk],
        "deliveries": deliveries_of(job.pk),
        "documents": [(name, value) for name, value in documents(job) if value not in (None, {})],
        "chapters": chapters(events[-MOST_EVENTS:]),
        "cut": len(events) > MOST_EVENTS,
        "bad": BAD,
    }


def facts(job: Any) -> Iterator[tuple[str, str]]:
    yield "priority", str(job.priority)
    yield (
        "attempt",
        f"{job.attempt} of {job.max_attempts}" + f", {job.crashes} lost with its worker" * bool(job.crashes),
    )
    for name, value in (
        ("scope", job.scope),
        ("limit key", job.limit_key),
        ("size", filesizeformat(job.size) if job.size else ""),
        ("dedupe key", (job.dedupe_key or "") + ", kept for ever" * (job.unique_ever and bool(job.dedupe_key))),
        ("backoff", job.backoff),
        ("accelerator", job.accelerator),
        ("max runtime", human_duration(job.max_runtime.total_seconds()) if job.max_runtime else ""),
        ("webhook", job.webhook_url),
    ):
        if value:
            yield name, value


def moments(job: Any) -> Iterator[tuple[str, datetime | None]]:
    yield "enqueued", job.enqueued_at
    yield "run after", job.run_after
    yield "claimed", job.claimed_at
    yield "started", job.started_at
    yield "last progress", job.progressed_at
    yield "asked to stop", job.cancel_requested_at
    yield "finished", job.finished_at
    yield "marked stale", job.stale_at


def claim(job: Any, now: datetime) -> dict[str, str] | None:
    """Who holds it since when, and how long the lease lasts."""
    if not job.claim_id:
        return None
    left = (job.lease_expires_at - now).total_seconds()
    return {
        "id": str(job.claim_id),
        "age": human_duration((now - job.claimed_at).total_seconds()),
        "lease": f"over since {human_duration(-left)}" if left <= 0 else f"{human_duration(left)} left",
        "until": full_time(job.lease_expires_at),
    }


def documents(job: Any) -> Iterator[tuple[str, Any]]:
    yield "Payload", job.payload
    yield "Result", job.result
    yield "Checkpoint", job.checkpoint


def chapters(events: list[JobEvent]) -> list[Chapter]:
    """The history, oldest first; a claim opens a chapter, and so does whatever sends the job back to the line."""
    told: list[Chapter] = []
    for event in events:
        if not told or event.name in (EventName.CLAIMED, EventName.REQUEUED):
            told.append(Chapter(event.attempt or 0))
        told[-1].events.append(event)
        told[-1].attempt = max(told[-1].attempt, event.attempt or 0)
        if event.worker_id:
            told[-1].worker_id, told[-1].worker_name = event.worker_id, event.worker_name
    return told
