"""Spawn: a running job makes jobs of its own, each once, however often it is tried again."""

from collections.abc import Collection, Sequence
from typing import Any

from jobs.db import transactional
from jobs.exceptions import InvalidInput
from jobs.handlers.base import Child, ClaimRef, Spawn
from jobs.handlers.enqueueing import check_options
from jobs.handlers.registry import registry
from jobs.handlers.spawning import named
from jobs.lifecycle import waiting
from jobs.lifecycle.cancel import PARENT_CANCELLED, cancel_batch
from jobs.lifecycle.checker import check
from jobs.lifecycle.enqueue import insert_batch
from jobs.lifecycle.fence import lock_one
from jobs.lifecycle.locked_job import LockedJob
from jobs.lifecycle.new_job import CheckedJob, NewJob, check_text
from jobs.models import Dependency, Job
from jobs.states import Status

NOT_REMOTE = frozenset({"allow_unknown", "scope", "webhook_url"})  # options that reach beyond the worker's own jobs


@transactional
def spawn(claim: ClaimRef, orders: Sequence[Spawn] = (), *, remote: bool = False) -> tuple[Child, ...]:
    """Make those that are not there yet; returns all that the job has spawned, in that order.

    Under the lock of the job's row: the claim holds, and nobody else spawns for it meanwhile. Who calls from elsewhere
    (`remote`) is believed no more than the job's kind says.
    """
    job = lock_one(claim)
    if remote:
        refuse_foreign(job.kind, orders)
    known = dict(Dependency.objects.of([job.pk]).spawned().values_list("key", "needs_id"))
    new: dict[str, CheckedJob] = {}
    for order in orders:
        checked = checked_order(job, order)
        refuse_circles(checked, known.values())
        key = key_of(named(order))
        if key not in known:
            new.setdefault(key, checked)
    if new:
        made = [answer.job_id for answer in insert_batch(list(new.values()))]
        needed = waiting.lock_needed(set(made))
        waiting.add(
            (Dependency(job_id=job.pk, needs_id=pk, key=key) for key, pk in zip(new, made, strict=True)), needed
        )
        if job.cancel_requested_at:  # which cancelled what there was; its worker has not heard of it yet
            cancel_batch(made, PARENT_CANCELLED)
    return children_of(job.pk)


def refuse_foreign(kind: str, orders: Sequence[Spawn]) -> None:
    """A remote worker's key must not be the key to every kind, address and scope."""
    known = registry.find(kind)
    allowed = known.spawns if known else ()
    for order in orders:
        if order.kind not in allowed:
            raise InvalidInput(
                f"A remote worker makes no job of the kind {order.kind!r} for one of the kind {kind!r}, unless that is "
                f"registered with spawns={(order.kind,)!r}."
            )
        if wrong := NOT_REMOTE.intersection(order.options):
            raise InvalidInput(f"A remote worker spawns no job with {', '.join(sorted(wrong))}.")


def checked_order(job: LockedJob, order: Spawn) -> CheckedJob:
    """What it does not say is as its parent has it: the priority and the scope."""
    check_options(order.options)
    options: dict[str, Any] = {"priority": job.priority, "scope": job.scope, **order.options}
    try:
        return check(NewJob(order.kind, {} if order.payload is None else order.payload, **options))
    except TypeError as error:
        raise InvalidInput(f"ctx.spawn() was called wrongly: {error}.") from None


def refuse_circles(checked: CheckedJob, siblings: Collection[int]) -> None:
    """Whatever else it met or waited for could wait for its parent, which may come to wait for it."""
    if checked.dedupe_key is not None:
        raise InvalidInput("ctx.spawn() takes no dedupe_key and no unique: its key tells a job from others.")
    if not set(checked.terms.after) <= set(siblings):
        raise InvalidInput("A spawned job can wait only for jobs that were spawned by the same job, before it.")


def key_of(order: Spawn) -> str:
    if not order.key:
        raise InvalidInput("The key of a spawned job is empty; leave it out where the payload tells it from others.")
    return check_text("key", order.key, 200)


def children_of(job_id: int) -> tuple[Child, ...]:
    rows = list(Dependency.objects.of([job_id]).spawned().order_by("pk"))
    jobs = Job.objects.only("kind", "status", "progress", "result", "last_error").in_bulk(
        [row.needs_id for row in rows]
    )
    return tuple(child(row, jobs.get(row.needs_id)) for row in rows)


def child(row: Dependency, job: Job | None) -> Child:
    """Of one that is deleted, how it ended is known and nothing else."""
    if job is None:
        known = row.ended in list(Status)
        return Child(row.needs_id, row.key, "", Status(row.ended) if known else Status.CANCELLED)
    return Child(job.pk, row.key, job.kind, Status(job.status), job.progress, job.result, job.last_error)
