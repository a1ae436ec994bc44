"""Does something with one job: the verbs of the admin, with the caller's name in the history."""

from collections.abc import Callable
from typing import Any

from django.http import HttpRequest
from ninja import Field, Router, Schema

from jobs.api.access import Access, caller_of
from jobs.api.errors import ApiError
from jobs.api.permissions import OPERATE_JOBS
from jobs.api.queue.schemas import JobSummary
from jobs.lifecycle.by_operator import Done, Ids, Said, do_cancel, do_prioritise, do_requeue, do_retry
from jobs.selectors.jobs import get_job

router = Router(tags=["One job"])
operate, tell = Access(OPERATE_JOBS), Access(OPERATE_JOBS, takes_body=True)


class ActionAnswer(Schema):
    done: str = Field(description="What happened, in words: `retried`, `cancelled`, `asked to stop` …")
    job: JobSummary


class NewPriority(Schema, extra="forbid"):
    priority: int = Field(ge=-100, le=100, strict=True, description="Higher goes first.")


@router.post("/jobs/{int:job_id}/retry", summary="Run it again", **operate.options(ActionAnswer, 404, 409))
def retry(request: HttpRequest, job_id: int) -> Any:
    """A failed or cancelled job gets all its attempts anew; finished phases, qualities and the checkpoint stay."""
    return act(request, job_id, do_retry)


@router.post(
    "/jobs/{int:job_id}/requeue", summary="Run it again from nothing", **operate.options(ActionAnswer, 404, 409)
)
def requeue(request: HttpRequest, job_id: int) -> Any:
    """A job that has ended, a completed one too, begins anew: results, phases and qualities are lost."""
    return act(request, job_id, do_requeue)


@router.post("/jobs/{int:job_id}/cancel", summary="Cancel it", **operate.options(ActionAnswer, 404, 409))
def cancel(request: HttpRequest, job_id: int) -> Any:
    """A waiting job ends at once (`cancelled`), a running one is asked to stop (`asked to stop`)."""
    return act(request, job_id, do_cancel)


@router.post("/jobs/{int:job_id}/priority", summary="Set its priority", **tell.options(ActionAnswer, 404, 409))
def priority(request: HttpRequest, job_id: int, wish: NewPriority) -> Any:
    """Of a job that waits."""
    return act(request, job_id, do_prioritise, priority=wish.priority)


def act(request: HttpRequest, job_id: int, verb: Callable[[Ids, Said], Done], **said: Any) -> dict[str, Any]:
    get_job(job_id)  # where there is none, that is the answer
    result = verb([job_id], Said(caller_of(request).words, **said))
    if why := result.skipped.get(job_id):
        raise ApiError(409, "conflict", f"Job {job_id} was left alone, because {why}.")
    word = next(word for word, ids in result.done.items() if ids)
    return {"done": word, "job": get_job(job_id)}
