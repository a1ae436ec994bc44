"""What `show_job` shows: everything of one job, a section at a time."""

import json
from collections.abc import Iterator
from datetime import datetime
from typing import Any

from rich.console import RenderableType
from rich.text import Text

from jobs.management.tables import Cell, Column, bar, facts, heading, state, table
from jobs.management.text import printable_lines
from jobs.models import JobEvent, PhaseProgress, QualityProgress, Worker
from jobs.readable import full_time, human_duration
from jobs.sanitise import printable
from jobs.selectors.clock import database_now
from jobs.selectors.limits import why_waiting
from jobs.selectors.qualities import qualities_of
from jobs.selectors.timeline import timeline
from jobs.selectors.workflows import Workflow, workflow_of
from jobs.states import Status

Shown = str | RenderableType


def job_page(job: Any) -> list[Shown]:
    """The sections of a job that was read with its state; empty ones are left out."""
    now = database_now()
    page: list[Shown] = [title(job), facts(particulars(job, now))]
    for name, content in sections(job):
        page += ["", heading(name), content]
    return page


def title(job: Any) -> Text:
    return Text.assemble((f"Job {job.pk}", "bold"), f"  {printable(job.kind)}  ", state(job.state))


def particulars(job: Any, now: datetime) -> Iterator[tuple[str, Cell]]:
    yield "subject", job.subject
    yield "status", job.status
    yield "progress", Text.assemble(bar(job.progress), f"  {printable(job.step)}")
    yield "queue", job.queue
    yield "scope", job.scope
    yield "limit key", job.limit_key
    yield "why it waits", why_waiting([job]).get(job.pk, "")
    yield "priority", job.priority
    yield (
        "attempt",
        f"{job.attempt} of {job.max_attempts}" + (f", {job.crashes} lost with its worker" * bool(job.crashes)),
    )
    yield "backoff", job.backoff
    yield "dedupe key", (job.dedupe_key or "") + (", kept for ever" * job.unique_ever)
    yield "accelerator", job.accelerator
    yield "lease", human_duration(job.lease.total_seconds())
    yield "max runtime", human_duration(job.max_runtime.total_seconds()) if job.max_runtime else ""
    yield "webhook", job.webhook_url
    yield from claim_of(job, now)
    yield from moments_of(job)


def claim_of(job: Any, now: datetime) -> Iterator[tuple[str, Cell]]:
    if job.claim_id:
        left = (job.lease_expires_at - now).total_seconds()
        over = f"over since {human_duration(-left)}" if left <= 0 else f"{human_duration(left)} left"
        yield "claim", f"{job.claim_id}, lease {over}"
    if job.last_worker_name:
        worker = Worker.objects.filter(pk=job.worker_id).first()  # its row may be gone
        where = f", {worker.hostname} pid {worker.pid}" if worker else ""
        yield "worker" if job.claim_id else "last worker", f"{job.last_worker_name} ({job.last_worker_id}{where})"


def moments_of(job: Any) -> Iterator[tuple[str, Cell]]:
    yield "enqueued", full_time(job.enqueued_at)
    yield "run after", full_time(job.run_after)
    yield "claimed", full_time(job.claimed_at)
    yield "started", full_time(job.started_at)
    yield "progressed", full_time(job.progressed_at)
    yield "cancel asked", full_time(job.cancel_requested_at)
    yield "finished", full_time(job.finished_at)
    yield "stale", full_time(job.stale_at)


def sections(job: Any) -> Iterator[tuple[str, Shown]]:
    if phases := list(job.phases.all()):
        yield "Phases", phases_table(phases)
    if qualities := qualities_of([job.pk])[job.pk]:
        yield "Qualities", qualities_table(qualities)
    if workflow := workflow_of(job):
        yield "Workflow", workflow_table(workflow)
    for name, value in (("Payload", job.payload), ("Result", job.result), ("Checkpoint", job.checkpoint)):
        if value not in (None, {}):
            yield name, printable_lines(json.dumps(value, indent=2, ensure_ascii=False))
    earlier = " of an earlier attempt" if job.status == Status.COMPLETED else ""
    if job.last_error:
        yield f"Error{earlier}", printable_lines(job.last_error)
    if job.last_traceback:
        yield f"Traceback{earlier}", printable_lines(job.last_traceback)
    yield "History", history_table(timeline(job))


def phases_table(phases: list[PhaseProgress]) -> RenderableType:
    columns = [
        Column("PHASE", cut=True),
        Column("STATUS"),
        Column("PROGRESS"),
        Column("TRY"),
        Column("ERROR", cut=True),
    ]
    return table(columns, [[p.name, state(p.shown_status), bar(p.progress), p.attempt, p.error] for p in phases])


def qualities_table(qualities: list[QualityProgress]) -> RenderableType:
    columns = [
        Column("QUALITY"),
        Column("STATUS"),
        Column("PROGRESS"),
        Column("SEGMENTS", right=True),
        Column("ERROR", cut=True),
    ]
    return table(columns, [[q.name, state(q.status), bar(q.progress), segments(q), q.error] for q in qualities])


def workflow_table(workflow: Workflow) -> RenderableType:
    """Who it needs, what it spawned, and who needs it; with all that it needs as a first line, where that is much."""
    columns = [
        Column("RELATION"),
        Column("JOB", right=True),
        Column("STATE"),
        Column("PROGRESS"),
        Column("WHAT", cut=True),
    ]
    rows: list[list[Cell]] = []
    if whole := workflow.progress:
        rows.append(["needs in all", whole.total, f"{whole.ended} ended", bar(whole.percent), ""])
    for group in workflow.groups:
        for node in group.nodes:
            what = "deleted" if node.gone else node.subject or node.kind
            rows.append([group.title.lower(), node.id, state(node.state), bar(node.progress), what])
        if group.total > len(group.nodes):
            rows.append([group.title.lower(), "", f"{group.total:,} in all", "", ""])
    return table(columns, rows)


def segments(quality: QualityProgress) -> str:
    if quality.segments_total is None and not quality.segments_completed:
        return ""
    return f"{quality.segments_completed} / {'?' if quality.segments_total is None else quality.segments_total}"


def history_table(events: list[JobEvent]) -> RenderableType:
    columns = [
        Column("WHEN"),
        Column("EVENT"),
        Column("TRY", right=True),
        Column("WORKER", cut=True),
        Column("REASON", cut=True),
    ]
    return table(columns, [history_row(event) for event in events])


def history_row(event: JobEvent) -> list[Cell]:
    at = full_time(event.at).rpartition(" ")[0]
    return [at, state(event.name), event.attempt, event.worker_name, event.reason]
