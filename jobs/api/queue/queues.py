"""Pauses and resumes a queue."""

from typing import Any

from django.http import HttpRequest
from ninja import Field, Router, Schema

from jobs.api.access import Access, caller_of
from jobs.api.permissions import OPERATE_QUEUES
from jobs.lifecycle.queues import pause as pause_queue
from jobs.lifecycle.queues import resume as resume_queue

router = Router(tags=["Queues"])
operate = Access(OPERATE_QUEUES, takes_body=True)


class Pause(Schema, extra="forbid"):
    queue: str
    reason: str = Field("", description="A word for those who wonder.")


class Resume(Schema, extra="forbid"):
    queue: str


class QueueAnswer(Schema):
    queue: str
    paused: bool
    changed: bool = Field(description="False: it was so already.")


@router.post("/pause", summary="Let nothing of a queue be claimed", **operate.options(QueueAnswer))
def pause(request: HttpRequest, wish: Pause) -> Any:
    """What runs goes on, and jobs can be enqueued as before."""
    by = caller_of(request).words
    changed = pause_queue(wish.queue, ", ".join(filter(None, (wish.reason, by))))
    return {"queue": wish.queue, "paused": True, "changed": changed}


@router.post("/resume", summary="Let a queue be served again", **operate.options(QueueAnswer))
def resume(request: HttpRequest, wish: Resume) -> Any:
    changed = resume_queue(wish.queue, caller_of(request).words)
    return {"queue": wish.queue, "paused": False, "changed": changed}
