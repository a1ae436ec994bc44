"""What the list of jobs shows: one page of those that match, and where to go from there."""

from datetime import datetime
from typing import Any

from django.http import HttpRequest

from jobs.admin.job_filter import GROUPS, STATES, FilterForm
from jobs.admin.job_order import number
from jobs.exceptions import InvalidInput
from jobs.readable import human_duration
from jobs.selectors.clock import database_now
from jobs.selectors.job_pages import JobPage, job_page
from jobs.selectors.limits import why_waiting
from jobs.states import Status

PAGE = 50
NOTHING = JobPage([], None, None, None, None, [])


def list_context(request: HttpRequest, form: FilterForm) -> dict[str, Any]:
    page, error = read_page(request, form)
    form.offer(page.queues, {job.kind for job in page.jobs})
    now, waits = database_now(), why_waiting(page.jobs)
    return {
        "form": form,
        "error": error,
        "chips": chips(form),
        "rows": [(job, told_time(job, now), waits.get(job.pk, "")) for job in page.jobs],
        "shown": ",".join(str(job.pk) for job in page.jobs),
        "known": page.known,
        "reached": page.reached,
        "query": form.query(),
        "filtered": bool(form.given()),
        "newest": form.query() if request.GET.get("before") or request.GET.get("after") else None,
        "newer": page.newer and form.query(after=page.newer),
        "older": page.older and form.query(before=page.older),
    }


def read_page(request: HttpRequest, form: FilterForm) -> tuple[JobPage, str]:
    if not form.is_valid():
        field, errors = next(iter(form.errors.items()))
        return NOTHING, f"{field}: {errors[0]}"
    before, after = number(request.GET.get("before")), number(request.GET.get("after"))
    try:
        return job_page(form.which(), before=before, after=None if before else after, size=PAGE), ""
    except InvalidInput as error:
        return NOTHING, str(error)


def chips(form: FilterForm) -> list[dict[str, Any]]:
    """The states, one click each; the rest of the filter stays."""
    chosen = form.cleaned_data.get("state", "")
    states = [("", "all"), *((state, state) for state in STATES)]
    return [
        {
            "state": state,
            "label": label,
            "query": form.query(state=state),
            "chosen": state == chosen,
            "group": state in ("", *GROUPS),
        }
        for state, label in states
    ]


def told_time(job: Any, now: datetime) -> str:
    """How long it waits, runs, or took: the one that matters in its state."""
    if job.status == Status.PENDING:
        left = (job.run_after - now).total_seconds()
        return f"in {human_duration(left)}" if left > 0 else f"waits {human_duration(-left)}"
    begun = job.started_at or job.claimed_at
    if job.status == Status.RUNNING:
        return f"runs {human_duration((now - begun).total_seconds())}"
    ago = f"{human_duration((now - job.finished_at).total_seconds())} ago"
    return f"took {human_duration((job.finished_at - begun).total_seconds())}, {ago}" if begun else ago
