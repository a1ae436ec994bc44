"""What a reader wants to be told: of jobs or workers, all of them or some, from now on or since it last listened."""

from collections.abc import Collection
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from django.http import HttpRequest

from jobs.api.bodies import check_known
from jobs.api.errors import invalid
from jobs.lifecycle.new_job import check_queue

MOST_IDS, MOST_QUEUES = 200, 20
LAST_ID = 2**63 - 1


class Topic(StrEnum):
    JOBS = "jobs"
    WORKERS = "workers"


@dataclass(frozen=True)
class Wanted:
    topic: Topic
    queues: frozenset[str] = frozenset()  # none: all
    ids: frozenset[int] = frozenset()  # none: all
    after: int | None = None  # the position up to which the reader knows everything

    @property
    def wants_depth(self) -> bool:
        """Whoever looks at some jobs looks at no queue."""
        return self.topic == Topic.JOBS and not self.ids

    def takes(self, job_id: int, queue: str) -> bool:
        if self.topic != Topic.JOBS or (self.ids and job_id not in self.ids):
            return False
        return not self.queues or queue in self.queues

    def lost(self, job_id: int, queues: Collection[str]) -> bool:
        """Whether it took the job before that left these queues."""
        return any(self.takes(job_id, queue) for queue in queues)


def read_wanted(request: HttpRequest, topic: Topic, job_id: int | None = None) -> Wanted:
    known = ("once", "after") if topic == Topic.WORKERS or job_id else ("once", "after", "queue", "ids")
    check_known(request.GET, known, "parameter")
    after = request.headers.get("Last-Event-ID") or request.GET.get("after")
    return Wanted(
        topic,
        queues_of(request.GET.getlist("queue")),
        frozenset({job_id}) if job_id else ids_of(request.GET.getlist("ids")),
        None if not after else whole_number("Last-Event-ID", after),
    )


def queues_of(names: list[str]) -> frozenset[str]:
    if len(set(names)) > MOST_QUEUES:
        raise invalid(f"A stream tells of at most {MOST_QUEUES} queues by name; leave them out for all.")
    return frozenset(check_queue(name) for name in names)


def ids_of(values: list[str]) -> frozenset[int]:
    """`ids=1,2,3`, or the parameter several times."""
    words = [word.strip() for value in values for word in value.split(",")]
    ids = frozenset(whole_number("ids", word) for word in words)
    if len(ids) > MOST_IDS:
        raise invalid(f"A stream tells of at most {MOST_IDS} jobs by id; leave them out for all.")
    return ids


def whole_number(name: str, word: Any) -> int:
    if not (word.isascii() and word.isdigit() and len(word) < 20 and int(word) <= LAST_ID):
        raise invalid(f"{name} must be a whole number, as the stream gave it, not {word[:50]!r}.")
    return int(word)
