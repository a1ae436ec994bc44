"""Does something with all jobs that have ended in one way: batch by batch, each a transaction of its own."""

from collections import Counter
from collections.abc import Callable
from time import monotonic
from typing import Any

from django.http import HttpRequest
from ninja import Field, Router, Schema

from jobs.api.access import Access, caller_of
from jobs.api.permissions import CLEAR_JOBS, OPERATE_JOBS
from jobs.lifecycle.by_operator import Done, Ids, Said, do_clear, do_retry
from jobs.lifecycle.selection import BATCH
from jobs.selectors.job_pages import matching
from jobs.selectors.jobs import JobFilter
from jobs.selectors.walking import newest_id
from jobs.states import Status

router = Router(tags=["Many jobs"])
operate, clear = Access(OPERATE_JOBS, takes_body=True), Access(CLEAR_JOBS, takes_body=True)
PATIENCE = 20.0  # seconds that one call may take


class Which(Schema, extra="forbid"):
    queue: str | None = Field(None, description="Only jobs of this queue; else of all queues.")


ALL = Which(queue=None)


class BulkAnswer(Schema):
    done: int = Field(description="How many jobs it was done with.")
    skipped: dict[str, int] = Field(description="How many were left alone, by the reason.")
    more: bool = Field(description="Whether time was up before the end: then call again for the rest.")


@router.post("/retry-errors", summary="Retry all failed jobs", **operate.options(BulkAnswer))
def retry_errors(request: HttpRequest, which: Which = ALL) -> Any:
    """Not the cancelled ones: somebody wanted those to end."""
    return with_all(request, Status.FAILED, which.queue, do_retry)


@router.post("/clear-completed", summary="Delete all completed jobs", **clear.options(BulkAnswer))
def clear_completed(request: HttpRequest, which: Which = ALL) -> Any:
    """With their history."""
    return with_all(request, Status.COMPLETED, which.queue, do_clear)


@router.post("/clear-errors", summary="Delete all failed jobs", **clear.options(BulkAnswer))
def clear_errors(request: HttpRequest, which: Which = ALL) -> Any:
    """With their history. Cancelled jobs stay."""
    return with_all(request, Status.FAILED, which.queue, do_clear)


def with_all(
    request: HttpRequest, status: Status, queue: str | None, verb: Callable[[Ids, Said], Done]
) -> dict[str, Any]:
    """What is enqueued after the call began is not touched, so that the call ends, too."""
    which, said, upto = JobFilter(statuses=(status,), queue=queue), Said(caller_of(request).words), newest_id()
    done, skipped, after, until = 0, Counter[str](), 0, monotonic() + PATIENCE
    while ids := matching(which, after=after, upto=upto, size=BATCH):
        result = verb(ids, said)
        done += len(result.ids)
        skipped += Counter(result.skipped.values())
        after = ids[-1]
        if monotonic() > until:
            return {"done": done, "skipped": skipped, "more": bool(matching(which, after=after, upto=upto, size=1))}
    return {"done": done, "skipped": skipped, "more": False}
