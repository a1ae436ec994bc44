"""Rows as JSON documents: what `--json` prints of a job or a token."""

from dataclasses import asdict
from datetime import timedelta
from typing import Any

from django.db.models import Model

from jobs.models import ApiToken, Job, WorkerKey
from jobs.selectors.qualities import qualities_of
from jobs.selectors.timeline import timeline
from jobs.selectors.workflows import workflow_of

# Large, and shown by show_job: a list of jobs leaves them out, and does not read them either.
LARGE = ("payload", "result", "checkpoint", "last_traceback")


def row_document(row: Model, leave_out: tuple[str, ...] = ()) -> dict[str, Any]:
    """Every column by its name; durations in seconds."""
    names = [field.attname for field in row._meta.concrete_fields if field.attname not in leave_out]
    return {name: in_seconds(getattr(row, name)) for name in names}


def in_seconds(value: Any) -> Any:
    return value.total_seconds() if isinstance(value, timedelta) else value


def job_document(job: Any) -> dict[str, Any]:
    """A job, read with its state, without what is large."""
    return {"state": job.state, **row_document(job, leave_out=LARGE)}


def whole_job_document(job: Any) -> dict[str, Any]:
    """A job with all that belongs to it."""
    return {
        "state": job.state,
        **row_document(job),
        "phases": [
            {**row_document(phase, ("id", "job_id")), "shown_status": phase.shown_status} for phase in job.phases.all()
        ],
        "qualities": [row_document(quality, ("id", "job_id")) for quality in qualities_of([job.pk])[job.pk]],
        "workflow": [
            {"relation": group.title.lower(), **asdict(node)}
            for group in workflow_of(job).groups
            for node in group.nodes
        ],
        "events": events_document(job),
    }


def events_document(job: Job) -> list[dict[str, Any]]:
    return [row_document(event, ("job_id", "queue")) for event in timeline(job)]


def token_document(token: ApiToken) -> dict[str, Any]:
    return {**row_document(token, ("digest", "user_id")), "user": str(token.user)}


def key_document(key: WorkerKey) -> dict[str, Any]:
    return {**row_document(key, ("digest",)), "worker": key.worker.name}
