"""Makes jobs: the checks and the errors of `jobs.enqueue()`."""

from datetime import datetime
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.dateparse import parse_datetime
from ninja import Field, Router, Schema, Status
from pydantic import StrictInt

from jobs.api.access import Access
from jobs.api.admission import SMALL
from jobs.api.bounds import MOST_IDS
from jobs.api.permissions import ENQUEUE
from jobs.conf import conf
from jobs.exceptions import InvalidInput
from jobs.lifecycle.enqueue import enqueue as make_job

router = Router(tags=["New jobs"])
WRITTEN_AT_MOST = 3  # JSON may be written longer than it is stored: an escaped letter takes three times its bytes


def largest() -> int:
    return conf.MAX_PAYLOAD * WRITTEN_AT_MOST + SMALL


add = Access(ENQUEUE, takes_body=True, largest=largest)


class NewJob(Schema, extra="forbid"):
    """What is left out comes from the kind's handler, then from the settings."""

    kind: str = Field(description="The name its handler is registered under.")
    payload: dict[str, Any] = Field({}, description="What the handler is given.")
    queue: str | None = Field(None, description="The line it waits in.")
    priority: int = Field(0, strict=True, description="−100 … 100; higher goes first.")
    subject: str = Field("", description="What people see: a path, a title.")
    scope: str = Field("", description="The library or tenant it belongs to.")
    dedupe_key: str | None = Field(None, description="At most one pending or running job of a queue has it.")
    unique: str | None = Field(
        None, description="`active` or `ever`: keeps duplicates away; derives the key if none is given."
    )
    force: bool = Field(False, strict=True, description="Enqueue although a finished job is unique for ever.")
    run_after: str | None = Field(
        None, description="Not before this; with its time zone.", json_schema_extra={"format": "date-time"}
    )
    max_attempts: int | None = Field(None, strict=True, description="Executions, the first included.")
    backoff: str | None = Field(None, description="The wait between attempts, as in `exponential:10:3600`.")
    max_runtime: float | None = Field(None, strict=True, description="Seconds; an attempt that runs longer fails.")
    webhook_url: str | None = Field(None, description="Who is told when it has ended.")
    accelerator: str | None = Field(None, description="`prefer` or `require` a GPU worker.")
    limit_key: str | None = Field(None, description="Jobs with the same key share a limit.")
    size: int = Field(0, strict=True, description="Bytes of its source: small workers leave large ones to others.")
    after: list[StrictInt] = Field(
        [], fail_fast=True, max_length=MOST_IDS, description="Ids of jobs that must end first."
    )
    on_parent_failure: str = Field(
        "cancel",
        description="What follows where one of them fails or is cancelled: `cancel` this one, `fail` it, or `run` it.",
    )
    allow_unknown: bool = Field(False, strict=True, description="Enqueue a kind that this server has no handler for.")


class EnqueueAnswer(Schema):
    job_id: int
    created: bool = Field(description="False: a job with the same dedupe key was met, and this is its id.")


@router.post("/enqueue", summary="Enqueue a job", **add.options(EnqueueAnswer, also=201))
def enqueue(request: HttpRequest, response: HttpResponse, new: NewJob) -> Any:
    """A duplicate is no error: it is answered with 200 and `"created": false`."""
    given = new.dict(exclude_unset=True)
    enqueued = make_job(**given | {"run_after": moment_of(new.run_after)})
    response["Location"] = f"{reverse('jobs-api:queue', args=['queue/jobs'])}/{enqueued.job_id}"
    return Status(201 if enqueued.created else 200, {"job_id": enqueued.job_id, "created": enqueued.created})


def moment_of(text: str | None) -> datetime | None:
    """Only as RFC 3339 writes it: 5 or "5" is no time, although pydantic would take it for one in 1970."""
    if text is None:
        return None
    try:
        moment = parse_datetime(text)
    except ValueError:  # the 31st of February, for one
        moment = None
    if moment is None:
        raise InvalidInput(f"run_after {text[:50]!r} is not a time; write it as in 2031-05-01T12:00:00+02:00.")
    return moment
