"""Looks at the queue: how deep it is, which jobs there are, and all about one."""

from datetime import timedelta
from typing import Any, Literal
from uuid import UUID

from django.http import HttpRequest
from ninja import Field, Query, Router, Schema

from jobs.api.access import Access
from jobs.api.bodies import check_known
from jobs.api.documents import depth_document
from jobs.api.permissions import VIEW_JOBS, VIEW_QUEUES
from jobs.api.queue.cursors import cursor_of, job_before
from jobs.api.queue.schemas import DepthAnswer, JobDetail, JobList
from jobs.selectors.job_pages import job_page
from jobs.selectors.jobs import JobFilter, get_job, in_state
from jobs.selectors.timeline import latest_events

router = Router(tags=["Looking"])
ON_A_PAGE, MOST_ON_A_PAGE, MOST_EVENTS = 50, 500, 500
LONGEST = 100 * 365 * 86_400.0
see_jobs, see_queues = Access(VIEW_JOBS), Access(VIEW_QUEUES)

State = Literal[
    "pending", "unclaimed", "scheduled", "retrying", "running", "claimed", "expired", "stalled",
    "completed", "failed", "cancelled",
]  # fmt: skip


@router.get("/depth", summary="How deep the queues are", **see_queues.options(DepthAnswer))
def depth(request: HttpRequest) -> Any:
    check_known(request.GET, (), "parameter")
    return depth_document()


class Filters(Schema):
    state: State | None = Field(None, description="pending and running mean all states of that status.")
    queue: str | None = None
    kind: str | None = None
    scope: str | None = Field(None, description="The library or tenant.")
    worker: UUID | None = Field(None, description="The id of who has it, or had it last.")
    search: str = Field("", description="An id, or a part of the subject, the dedupe key or the error.")
    older_than: float | None = Field(
        None, ge=0, le=LONGEST, description="Seconds since it ended, or while it has not, since it was enqueued."
    )
    newer_than: float | None = Field(None, ge=0, le=LONGEST, description="As `older_than`.")
    limit: int = Field(ON_A_PAGE, ge=1, le=MOST_ON_A_PAGE)
    cursor: str | None = Field(None, max_length=100, description="What the page before answered as `next`.")

    def which(self) -> JobFilter:
        statuses, states = in_state(self.state or "")
        return JobFilter(
            statuses=statuses,
            states=states,
            queue=self.queue,
            kind=self.kind,
            scope=self.scope,
            worker=self.worker,
            text=self.search,
            older_than=None if self.older_than is None else timedelta(seconds=self.older_than),
            newer_than=None if self.newer_than is None else timedelta(seconds=self.newer_than),
        )


@router.get("/jobs", summary="Jobs, the newest first, page by page", **see_jobs.options(JobList))
def jobs(request: HttpRequest, filters: Query[Filters]) -> Any:
    """All that is given must match. Pages are found by id: what is enqueued meanwhile moves nothing."""
    check_known(request.GET, Filters.model_fields, "parameter")
    before = job_before(filters.cursor) if filters.cursor is not None else None
    page = job_page(filters.which(), before=before, size=filters.limit)
    return {"jobs": page.jobs, "next": cursor_of(page.older) if page.older else None}


@router.get("/jobs/{int:job_id}", summary="All about one job", **see_jobs.options(JobDetail, 404))
def job(request: HttpRequest, job_id: int) -> Any:
    check_known(request.GET, (), "parameter")
    found: Any = get_job(job_id)
    found.events = latest_events(found, MOST_EVENTS)
    return found
