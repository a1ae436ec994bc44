"""Tells an operator what became of an order: how many were done, which were left alone, and why."""

from collections import defaultdict
from collections.abc import Iterator, Mapping

from django.contrib import messages
from django.contrib.admin.models import CHANGE, DELETION
from django.http import HttpRequest

from jobs.admin.job_actions import Done
from jobs.admin.job_order import Order
from jobs.admin.log import log
from jobs.models import Job

NAMED = 10  # of the jobs that were left alone for one reason
LOGGED_EACH = 100  # more than these are one entry in the admin's log


def jobs(number: int) -> str:
    return "1 job" if number == 1 else f"{number:,} jobs"


def tell(request: HttpRequest, result: Done) -> None:
    for line in lines(result):
        messages.success(request, line)
    for line in left_alone(result.skipped):
        messages.warning(request, line)
    if not result.ids and not result.skipped:
        messages.warning(request, "No job matches any more: nothing was done.")


def lines(result: Done) -> Iterator[str]:
    for word, ids in result.done.items():
        if ids:
            yield f"{jobs(len(ids))} {word}."


def left_alone(skipped: Mapping[int, str]) -> Iterator[str]:
    by_reason: defaultdict[str, list[int]] = defaultdict(list)
    for job_id, why in skipped.items():
        by_reason[why].append(job_id)
    for why, ids in by_reason.items():
        more = f" and {len(ids) - NAMED:,} more" if len(ids) > NAMED else ""
        yield f"{jobs(len(ids))} left alone, because {why}: {', '.join(map(str, ids[:NAMED]))}{more}."


def note(request: HttpRequest, order: Order, result: Done) -> None:
    """Into Django's admin log: job by job, or in one line where there are many."""
    flag = DELETION if order.action.administers else CHANGE
    for word, ids in result.done.items():
        message = f"{word[0].upper()}{word[1:]}."  # a queue's name stays as it is
        if len(ids) <= LOGGED_EACH:
            log(request, Job, ((job_id, f"job {job_id}") for job_id in ids), message, flag)
        else:
            log(request, Job, [(None, f"{jobs(len(ids))}: {about(order)}")], message, flag)


def about(order: Order) -> str:
    if order.form is None:
        return "a selection"
    return ", ".join(f"{name} {value}" for name, value in order.form.words()) or "all jobs"
