"""Jobs and workers as small dicts that can be sent: how each stands now, without what is large.

Nothing in them depends on the time of reading but the state, so that whoever has an equal one has seen all there is.
"""

import math
from collections import defaultdict
from collections.abc import Collection, Iterable
from typing import Any

from django.db.models.functions import Left

from jobs.models import Job, JobQuerySet, PhaseProgress, QualityProgress, Worker
from jobs.selectors.qualities import qualities_of
from jobs.selectors.worker_list import latest_workers
from jobs.states import QualityStatus, Status

MOST_RUNNING, MOST_WORKERS = 500, 200
LONGEST_ERROR = 300
FIELDS = (
    "id", "kind", "queue", "subject", "scope", "status", "priority", "attempt", "max_attempts", "crashes", "progress",
    "step", "last_worker_id", "last_worker_name", "enqueued_at", "run_after", "claimed_at", "started_at",
    "progressed_at", "cancel_requested_at", "finished_at",
)  # fmt: skip
PHASE = ("job_id", "name", "status", "progress", "attempt")
QUALITY = ("job_id", "name", "status", "progress", "segments_completed", "segments_total", "details", "error")

Summary = dict[str, Any]
ByJob = dict[int, list[Any]]


def summaries_of(job_ids: Iterable[int]) -> dict[int, Summary]:
    """By id; those that are gone are missing."""
    return summarised(Job.objects.with_ids(job_ids))


def running_summaries(queues: Collection[str] = (), limit: int = MOST_RUNNING) -> dict[int, Summary]:
    """What runs, the latest claimed first."""
    running = Job.objects.running()
    if queues:
        running = running.filter(queue__in=queues)
    return summarised(running.order_by("-claimed_at", "-pk")[:limit])


def summarised(jobs: JobQuerySet) -> dict[int, Summary]:
    rows: Any = jobs.with_state().annotate(error=Left("last_error", LONGEST_ERROR)).values(*FIELDS, "state", "error")
    found = list(rows)
    ids = [row["id"] for row in found]
    phases = by_job(PhaseProgress.objects.filter(job__in=ids).order_by("position").values(*PHASE)) if ids else {}
    qualities = qualities_of(ids) if ids else {}
    return {row["id"]: job_summary(row, phases.get(row["id"], []), told_of(qualities[row["id"]])) for row in found}


def told_of(qualities: list[QualityProgress]) -> list[dict[str, Any]]:
    return [{name: getattr(row, name) for name in QUALITY} for row in qualities]


def by_job(rows: Iterable[Any]) -> ByJob:
    grouped: ByJob = defaultdict(list)
    for row in rows:
        grouped[row["job_id"]].append(row)
    return grouped


def job_summary(row: dict[str, Any], phases: list[Any], qualities: list[Any]) -> Summary:
    return {
        **{name: row[name] for name in ("id", "kind", "queue", "subject", "scope", "status", "state", "priority")},
        **{name: row[name] for name in ("attempt", "max_attempts", "crashes", "progress", "step")},
        "eta": eta(row, qualities),
        "worker": {"id": row["last_worker_id"], "name": row["last_worker_name"]} if row["last_worker_id"] else None,
        "error": None if row["status"] == Status.COMPLETED else first_line(row["error"]),
        "cancel_requested": row["cancel_requested_at"] is not None,
        **{name: row[name] for name in ("enqueued_at", "run_after", "claimed_at", "started_at", "finished_at")},
        "phases": [phase_summary(phase, row) for phase in phases],
        "qualities": [quality_summary(quality) for quality in qualities],
    }


def phase_summary(phase: dict[str, Any], job: dict[str, Any]) -> Summary:
    row = PhaseProgress(name=phase["name"], status=phase["status"], attempt=phase["attempt"])
    row.job = Job(status=job["status"], attempt=job["attempt"])
    return {"name": phase["name"], "status": row.shown_status, "progress": phase["progress"]}


def quality_summary(quality: dict[str, Any]) -> Summary:
    return {
        **{name: quality[name] for name in ("name", "status", "progress", "segments_completed", "segments_total")},
        "eta": told_eta(quality) if quality["status"] == QualityStatus.IN_PROGRESS else None,
        "error": first_line(quality["error"]),
    }


def eta(row: dict[str, Any], qualities: list[Any]) -> int | None:
    """Seconds that were left when it last reported: the slowest quality knows best, else as fast as so far."""
    if row["status"] != Status.RUNNING:
        return None
    told = [told_eta(quality) for quality in qualities if quality["status"] == QualityStatus.IN_PROGRESS]
    if known := [seconds for seconds in told if seconds is not None]:
        return max(known)
    begun, last = row["started_at"], row["progressed_at"]
    if not begun or not last or last <= begun or not 0 < row["progress"] < 100:
        return None
    return round((last - begun).total_seconds() * (100 - row["progress"]) / row["progress"])


def told_eta(quality: dict[str, Any]) -> int | None:
    """What a handler tells of itself may be anything."""
    details = quality["details"]
    seconds = details.get("eta") if isinstance(details, dict) else None
    if isinstance(seconds, bool) or not isinstance(seconds, (int, float)) or not math.isfinite(seconds) or seconds < 0:
        return None
    return round(seconds)


def first_line(text: str) -> str | None:
    return text.strip().split("\n", 1)[0] or None


def worker_summaries(limit: int = MOST_WORKERS) -> dict[str, Summary]:
    """By id: those that may claim first, then the newest."""
    return {str(worker.pk): worker_summary(worker) for worker in latest_workers(limit=limit)}


def worker_summary(worker: Worker) -> Summary:
    """A worker that was read with the number of jobs it holds."""
    names = ("name", "status", "drain_requested", "type", "hostname", "pid", "version", "queues", "slots", "gpu")
    return {
        "id": worker.pk,
        **{name: getattr(worker, name) for name in names},
        "holding": worker.holding,  # type: ignore[attr-defined]  # annotated by list_workers()
        "registered_at": worker.registered_at,
        "last_heartbeat": worker.last_heartbeat,
    }
