"""What happens to workers: registered, busy and idle, disabled by an operator, drained."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any
from uuid import UUID, uuid4

from django.db import models
from django.db.models import Case, Count, OuterRef, Q, Subquery, Value, When
from django.db.models.functions import Coalesce

from jobs.db import Now, transactional
from jobs.exceptions import InvalidInput, TooMuchTold, WorkerNotFound, WorkerNotGone
from jobs.given import Among, Given, GivenList
from jobs.lifecycle import events, grace
from jobs.lifecycle.new_job import check_queue, check_text
from jobs.lifecycle.sql.bound import Bound
from jobs.lifecycle.sql.built_once import Statement, built_once, update
from jobs.lifecycle.sql.together import run_together
from jobs.models import Claim, Job, Worker, WorkerQuerySet
from jobs.process_identity import ProcessIdentity
from jobs.sanitise import clean_json, measured_json
from jobs.states import LIVE_WORKER, EventName, Status, WorkerStatus, WorkerType

MAX_FACTS = 10 * 1024
MOST_SLOTS = 2**15 - 1  # what the column holds
ANY = Q()


@transactional
def register(
    name: str,
    process: ProcessIdentity,
    *,
    queues: Sequence[str] = (),
    slots: int = 1,
    worker_type: WorkerType = WorkerType.LOCAL,
    version: str = "",
    capabilities: Mapping[str, Any] | None = None,
    metadata: Mapping[str, Any] | None = None,
    worker_id: UUID | None = None,
) -> Worker:
    """Make a worker known. Each process is a new worker: the claims of its predecessor are not its own.

    Who says its own id may repeat the call, should the answer get lost: it is still one worker.
    """
    if worker_id and (known := Worker.objects.filter(pk=worker_id).first()):
        return known
    check_name(name)
    facts = clean_json(dict(capabilities or {}), MAX_FACTS)
    worker = Worker.objects.create(
        pk=worker_id or uuid4(),
        name=name,
        type=worker_type,
        hostname=process.hostname,
        pid=process.pid,
        boot_id=process.boot_id,
        pid_namespace=process.pid_namespace,
        start_ticks=process.start_ticks,
        queues=[check_queue(queue) for queue in queues],
        slots=check_slots(slots),
        version=check_text("version", version, 50),
        gpu=bool(facts.get("gpu")),
        capabilities=facts,
        metadata=clean_json(dict(metadata or {}), MAX_FACTS),
        registered_at=Now(),
    )
    worker.refresh_from_db()
    grace.ensure_service()
    events.record([events.of_worker(worker, EventName.WORKER_ONLINE, "registered")])
    return worker


def check_name(name: str) -> None:
    if not check_text("worker name", name, 200).strip():
        raise InvalidInput("A worker needs a name.")


def check_slots(slots: Any) -> int:
    if isinstance(slots, bool) or not isinstance(slots, int) or not 1 <= slots <= MOST_SLOTS:
        raise InvalidInput(f"A worker has 1 to {MOST_SLOTS} slots, not {slots!r}.")
    return slots


def check_facts(name: str, facts: Mapping[str, Any]) -> dict[str, Any]:
    """What a remote worker tells of itself: refused, not cut, where it is too much."""
    cleaned, size = measured_json(dict(facts), MAX_FACTS)
    if size > MAX_FACTS:
        raise TooMuchTold(name=name, limit=MAX_FACTS)
    return cleaned


def refresh_status(worker_ids: Collection[UUID | None]) -> None:
    """Idle while there is a free slot, else busy. Offline and disabled are for others to undo."""
    if statements := refreshing(worker_ids):
        run_together(statements)


def refreshing(worker_ids: Collection[UUID | None]) -> list[Bound]:
    """The same, to be run behind what changes the number of their jobs."""
    known = [pk for pk in worker_ids if pk]
    return [status_of_each().bound(workers=known)] if known else []


def refreshing_after(taken: int, worker: Worker) -> list[Bound]:
    """The same behind a claim: who took as many jobs as it has slots is busy, and nothing need be counted."""
    return [busy_now().bound(worker=worker.pk)] if taken >= worker.slots else refreshing([worker.pk])


def refreshing_holders(calls: Collection[UUID]) -> Bound:
    """The same for whoever made these claim calls: their rows are kept while a job of theirs runs."""
    return status_of_holders().bound(calls=calls)


@built_once
def busy_now() -> Statement:
    worker = Worker.objects.live().filter(pk=Given("worker", models.UUIDField()))
    return update(worker.exclude(status=WorkerStatus.BUSY), {"status": WorkerStatus.BUSY})


@built_once
def status_of_each() -> Statement:
    return refreshed(Worker.objects.filter(Among("pk", GivenList("workers"))))


@built_once
def status_of_holders() -> Statement:
    return refreshed(
        Worker.objects.filter(pk__in=Claim.objects.filter(Among("pk", GivenList("calls"))).values("worker_id"))
    )


def refreshed(workers: WorkerQuerySet) -> Statement:
    should = busy_or_idle()
    return update(workers.live().exclude(status=should), {"status": should})


def busy_or_idle() -> Case:
    running = (
        Job.objects.filter(worker=OuterRef("pk"), status=Status.RUNNING)
        .order_by()
        .values("worker")
        .annotate(jobs=Count("pk"))
        .values("jobs")
    )
    full = Q(slots__lte=Coalesce(Subquery(running), 0))
    return Case(When(full, then=Value(WorkerStatus.BUSY)), default=Value(WorkerStatus.IDLE))


@transactional
def disable(worker_id: UUID, reason: str = "") -> Worker:
    """An operator's word: it claims nothing, and its running jobs are stopped and released. Only `enable` undoes it."""
    return _set(worker_id, EventName.WORKER_DISABLED, reason, status=WorkerStatus.DISABLED)


@transactional
def enable(worker_id: UUID, reason: str = "") -> Worker:
    """Back to offline: its next heartbeat, if it still lives, makes it idle or busy."""
    return _set(
        worker_id, EventName.WORKER_ENABLED, reason, only=Q(status=WorkerStatus.DISABLED), status=WorkerStatus.OFFLINE
    )


@transactional
def drain(worker_id: UUID, reason: str = "") -> Worker:
    """Ask a worker to finish what it runs, claim nothing more, and exit."""
    return _set(worker_id, EventName.WORKER_DRAINED, reason, only=Q(drain_requested=False), drain_requested=True)


@transactional
def remove(worker_id: UUID, reason: str = "") -> None:
    """Forget a worker that is gone. What it did keeps its name."""
    worker = find(Worker.objects.select_for_update(), worker_id)
    if worker.status != WorkerStatus.OFFLINE or Job.objects.running().filter(worker=worker).exists():
        raise WorkerNotGone(name=worker.name, status=worker.status)
    events.record([events.of_worker(worker, EventName.WORKER_REMOVED, reason)])
    worker.delete()


@transactional
def sign_off(worker_id: UUID, metadata: Mapping[str, Any] | None = None) -> Worker:
    """A worker that exits says so, instead of being found missing later; and what it did, whatever became of it."""
    worker = find(Worker.objects.select_for_update(no_key=True), worker_id)
    Worker.objects.filter(pk=worker_id).update(last_heartbeat=Now(), metadata=told_by(worker, metadata))
    return _set(
        worker_id, EventName.WORKER_OFFLINE, "signed off", only=Q(status__in=LIVE_WORKER), status=WorkerStatus.OFFLINE
    )


def told_by(worker: Worker, metadata: Mapping[str, Any] | None) -> Any:
    """What people are shown: what it has said before, and now."""
    return clean_json({**worker.metadata, **(metadata or {})}, MAX_FACTS)


def _set(worker_id: UUID, event: EventName, reason: str, only: Q = ANY, **changes: Any) -> Worker:
    worker = find(Worker.objects.select_for_update(no_key=True), worker_id)
    if Worker.objects.filter(only, pk=worker_id).update(**changes):
        events.record([events.of_worker(worker, event, reason)])
    worker.refresh_from_db()
    return worker


def find(workers: WorkerQuerySet, worker_id: UUID) -> Worker:
    worker = workers.filter(pk=worker_id).first()
    if worker is None:
        raise WorkerNotFound(worker_id=worker_id)
    return worker
