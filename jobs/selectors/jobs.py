"""Finds jobs: one filter for the command line, the admin and, later, HTTP."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import timedelta
from functools import reduce
from operator import or_
from uuid import UUID

from django.db.models import Q
from django.db.models.functions import Now

from jobs.exceptions import InvalidInput, JobNotFound
from jobs.lifecycle.new_job import check_queue, check_text
from jobs.models import Job, JobQuerySet
from jobs.models.job import IN_STATUS
from jobs.states import ShownState, Status


@dataclass(frozen=True)
class JobFilter:
    """Everything given must match; nothing given matches every job."""

    ids: tuple[int, ...] = ()
    statuses: tuple[str, ...] = ()
    states: tuple[str, ...] = ()
    queue: str | None = None
    scope: str | None = None
    kind: str | None = None
    worker: UUID | None = None  # who has it, or had it last
    older_than: timedelta | None = None
    newer_than: timedelta | None = None
    text: str = ""  # an id, or a part of the subject, the dedupe key or the error

    @property
    def is_one(self) -> bool:
        """Whether the text is an id, which the primary key finds at once."""
        return is_number(self.text)


Words = tuple[str, ...]


def in_state(word: str) -> tuple[Words, Words]:
    """The statuses and the states of a filter: pending and running are several states each, all other words are one."""
    if not word:
        return (), ()
    return ((), (word,)) if word in list(ShownState) else ((word,), ())


def find_jobs(which: JobFilter) -> JobQuerySet:
    jobs = Job.objects.filter(conditions(which), times(which))
    if which.states:
        jobs = jobs.in_states(known(which.states, ShownState))
    return jobs.filter(mentioning(which.text)) if which.text else jobs


def conditions(which: JobFilter) -> Q:
    condition = Q()
    if which.ids:
        condition &= Q(pk__in=which.ids)
    if which.statuses:
        condition &= any_of(IN_STATUS[Status(status)] for status in known(which.statuses, Status))
    if which.queue is not None:
        condition &= Q(queue=check_queue(which.queue))
    if which.scope is not None:
        condition &= Q(scope=check_text("scope", which.scope, 200))
    if which.kind is not None:
        condition &= Q(kind=check_text("kind", which.kind, 100))
    if which.worker is not None:
        condition &= Q(last_worker_id=which.worker)
    return condition


def times(which: JobFilter) -> Q:
    """A job is as old as its end, or as long as it has none, as its enqueueing."""
    condition = Q()
    if which.older_than is not None:
        ago = Now() - which.older_than
        condition &= Q(finished_at__lt=ago) | Q(finished_at=None, enqueued_at__lt=ago)
    if which.newer_than is not None:
        ago = Now() - which.newer_than
        condition &= Q(finished_at__gte=ago) | Q(finished_at=None, enqueued_at__gte=ago)
    return condition


def mentioning(text: str) -> Q:
    """A number is an id, and found at once. All else, a number in quotes too, is looked for in the texts.

    Whether there is such a job must not matter: who clears all that match would go on with what mentions its number.
    """
    check_text("text", text, 500)
    if is_number(text):
        return Q(pk=min(int(text), 2**63 - 1))
    text = text[1:-1] if len(text) > 2 and text[0] == text[-1] == '"' else text
    return Q(subject__icontains=text) | Q(dedupe_key__icontains=text) | Q(last_error__icontains=text)


def is_number(text: str) -> bool:
    return text.isascii() and text.isdecimal()


def any_of(conditions: Iterable[Q]) -> Q:
    return reduce(or_, conditions)


def known(words: tuple[str, ...], states: type[Status] | type[ShownState]) -> tuple[str, ...]:
    for word in words:
        if word not in list(states):
            raise InvalidInput(f"There is no state {word!r}; choose from {', '.join(states)}.")
    return words


def get_job(job_id: int) -> Job:
    """One job with its derived state; raises JobNotFound."""
    job = Job.objects.with_state().filter(pk=job_id).first()
    if job is None:
        raise JobNotFound(job_id=job_id)
    return job


def outside(statuses: Collection[Status], job_ids: Iterable[int]) -> set[int]:
    """Which of these jobs exist and are in none of these states."""
    return set(Job.objects.with_ids(job_ids).exclude(status__in=statuses).values_list("pk", flat=True))
