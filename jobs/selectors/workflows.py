"""How jobs hang together: what one waits for, what it spawned, and who waits for it."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from jobs.models import Dependency, DependencyQuerySet, Job
from jobs.models.dependency import Progress

MOST = 100  # of each sort


@dataclass(frozen=True)
class Node:
    """A job near another one. Of one that is deleted, only its id and how it ended are known."""

    id: int
    state: str
    kind: str = ""
    subject: str = ""
    progress: int = 0
    key: str = ""
    policy: str = ""
    gone: bool = False


@dataclass(frozen=True)
class Relatives:
    """Jobs that stand to another in the same way; a long list is cut, and `total` says how many there are."""

    title: str
    nodes: Sequence[Node]
    total: int


@dataclass(frozen=True)
class Workflow:
    before: Sequence[Relatives] = ()
    after: Sequence[Relatives] = ()
    spawned: Relatives | None = None
    progress: Progress | None = field(default=None)  # of all that it needs, where that is more than one

    def __bool__(self) -> bool:
        return bool(self.before or self.after or self.spawned)

    @property
    def groups(self) -> list[Relatives]:
        return [*self.before, *([self.spawned] if self.spawned else []), *self.after]


def workflow_of(job: Job) -> Workflow:
    """A few statements; none of them where a job stands alone but the first two."""
    needs, needed_by = Dependency.objects.filter(job=job.pk), Dependency.objects.filter(needs=job.pk)
    if not needs.exists() and not needed_by.exists():
        return Workflow()
    spawned = relatives("Spawned", needs.spawned(), "needs_id")
    progress = needs.progress()
    return Workflow(
        before=present(
            relatives("Spawned by", needed_by.spawned(), "job_id"),
            relatives("Waits for" if job.status == "pending" else "Waited for", needs.filter(key=""), "needs_id"),
        ),
        after=present(relatives("Waiting for it", needed_by.filter(key=""), "job_id")),
        spawned=spawned if spawned.total else None,
        progress=progress if progress.total > 1 else None,
    )


def present(*groups: Relatives) -> list[Relatives]:
    return [group for group in groups if group.total]


def relatives(title: str, rows: DependencyQuerySet, end: str) -> Relatives:
    found = list(rows.order_by("pk")[:MOST])
    jobs: dict[int, Any] = Job.objects.with_state().in_bulk([getattr(row, end) for row in found])
    nodes = [node_of(getattr(row, end), jobs.get(getattr(row, end)), row) for row in found]
    return Relatives(title, nodes, len(found) if len(found) < MOST else rows.count())


def node_of(job_id: int, job: Any, row: Dependency) -> Node:
    if job is None:
        return Node(job_id, row.ended if job_id == row.needs_id else "", key=row.key, policy=row.policy, gone=True)
    return Node(job_id, job.state, job.kind, job.subject, job.progress, row.key, row.policy)
