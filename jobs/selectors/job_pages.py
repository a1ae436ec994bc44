"""Jobs page by page, the newest first: by id and never by number, so that the millionth costs what the first does."""

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from django.db.models import Count, F, Value

from jobs.models import Job, JobQuerySet
from jobs.selectors.depth import counted
from jobs.selectors.jobs import JobFilter, find_jobs
from jobs.selectors.walking import walk
from jobs.states import STORED_AS, TERMINAL, Bucket, ShownState, Status

LARGE = ("payload", "result", "checkpoint", "last_traceback")
FEW = 20_000  # so many are sorted in some milliseconds
BUCKETS = {
    **{status: {Bucket(status.value)} for status in Status},
    Status.PENDING: {Bucket.PENDING, Bucket.SCHEDULED},
}


@dataclass(frozen=True)
class JobPage:
    jobs: list[Job]
    newer: int | None  # the next page in that direction: what comes after this id
    older: int | None  # what comes before it
    reached: int | None  # the id down (or up) to which was looked, where it stopped for want of time
    known: int | None  # how many match in all, where that can be said without counting
    queues: list[str]


def job_page(which: JobFilter, *, before: int | None = None, after: int | None = None, size: int = 50) -> JobPage:
    """The jobs before an id, after one, or the newest."""
    counts = counted()
    jobs, reached = read(which, counts, before, after, size + 1)
    more, jobs = len(jobs) > size, jobs[:size]
    if after is not None:
        jobs.reverse()
    newer = jobs and (more if after is not None else before is not None)
    older = jobs and (more if after is None else True)
    return JobPage(
        jobs,
        newer=jobs[0].pk if newer else reached if after is not None else None,
        older=jobs[-1].pk if older else reached if after is None else None,
        reached=reached,
        known=known_number(which, counts),
        queues=sorted({queue for queue, _, _ in counts}),
    )


def read(
    which: JobFilter, counts: list[tuple[str, str, int]], before: int | None, after: int | None, size: int
) -> tuple[list[Job], int | None]:
    """The jobs, from where the page begins; and how far was looked, if not to the end."""
    found = find_jobs(which).with_state().defer(*LARGE)
    few = is_few(which, counts)
    if not few and is_wide(which) and number_in(set(Status), None, counts) > FEW:
        walked = walk(found, size, before=before, after=after)
        return walked.jobs, walked.reached
    found = in_order(found, few=few, backwards=after is not None)
    if before is not None:
        found = found.filter(pk__lt=before)
    if after is not None:
        found = found.filter(pk__gt=after)
    return list(found[:size]), None


def is_wide(which: JobFilter) -> bool:
    """Whether it says more than ids: what the primary key alone does not find."""
    return which != JobFilter(ids=which.ids) and not which.is_one


def in_order(jobs: JobQuerySet, *, few: bool, backwards: bool) -> JobQuerySet:
    """Few ones are found by the index of their status and sorted; for many, the primary key is walked along.

    The planner would guess, and with statistics of another hour walk through a million finished jobs for one that runs.
    """
    key: Any = F("pk") + Value(0) if few else F("pk")  # a sum is the order of no index
    return jobs.order_by(key.asc() if backwards else key.desc())


def is_few(which: JobFilter, counts: list[tuple[str, str, int]]) -> bool:
    statuses = {Status(status) for status in which.statuses} | {STORED_AS[ShownState(state)] for state in which.states}
    return bool(statuses) and number_in(statuses, None, counts) <= FEW


def number_in(statuses: Collection[Status], queue: str | None, counts: list[tuple[str, str, int]]) -> int:
    buckets = {bucket for status in statuses for bucket in BUCKETS[status]}
    return sum(jobs for name, bucket, jobs in counts if bucket in buckets and queue in (None, name))


def known_number(which: JobFilter, counts: list[tuple[str, str, int]]) -> int | None:
    """The counters know of queues and of ends; of nothing finer."""
    if which != JobFilter(statuses=which.statuses, states=which.states, queue=which.queue):
        return None
    if not set(which.states) <= set(TERMINAL) or (which.states and which.statuses):
        return None
    statuses = {Status(word) for word in (*which.statuses, *which.states)} or set(Status)
    return max(0, number_in(statuses, which.queue, counts))


def matching(which: JobFilter, *, after: int, upto: int, size: int) -> list[int]:
    """The next ids that match, in order: for whoever does something with all of them, batch by batch."""
    found = find_jobs(which).filter(pk__gt=after, pk__lte=upto).order_by("pk")
    return list(found.values_list("pk", flat=True)[:size])


def number_by_state(which: JobFilter, *, after: int, upto: int) -> Counter[str]:
    """Counts, one by one: for whoever is about to do something with all of them."""
    found: Any = find_jobs(which).filter(pk__gt=after, pk__lte=upto).with_state().order_by()
    return Counter(dict(found.values_list("state").annotate(number=Count("pk"))))
