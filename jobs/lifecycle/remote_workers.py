"""Remote workers: registered once, with a key; their processes come and go, one at a time."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any
from uuid import UUID

from django.db import IntegrityError
from django.db.models import F, Q

from jobs.conf import conf
from jobs.db import Now, SecondsSince, transactional
from jobs.exceptions import InvalidInput, JobyardError
from jobs.lifecycle import events, grace, worker_keys
from jobs.lifecycle.new_job import check_queue, check_text
from jobs.lifecycle.reap import ReapResult, log, take_back
from jobs.lifecycle.workers import busy_or_idle, check_facts, check_name, check_slots, find, told_by
from jobs.models import Worker, WorkerKey
from jobs.states import EventName, WorkerStatus, WorkerType
from jobs.wire.messages import Start

TEXTS = {"hostname": 255, "boot_id": 64, "version": 50}
MOST_PID, MOST_TICKS = 2**31 - 1, 2**63 - 1  # what the columns hold


class WorkerInUse(JobyardError):
    """Worker {name} is at work on {hostname} and was heard {seconds:.0f} s ago: register a key for each machine."""

    code = "in_use"


class WorkerReplaced(JobyardError):
    """Another process speaks for worker {name} now, on {hostname}: this one must stop."""

    code = "replaced"


def register(name: str, lifetime: timedelta | None = None) -> tuple[Worker, WorkerKey, str]:
    """A remote worker and a key for it, whose text is known to nobody afterwards.

    Registered again, it is the same worker with another key; keys that nobody ever used are revoked, for such a call
    is mostly the repetition of one whose answer was lost.
    """
    check_name(name)
    try:
        return registered(name, lifetime)
    except IntegrityError:  # somebody else registers the same name at this moment
        return registered(name, lifetime)


@transactional
def registered(name: str, lifetime: timedelta | None) -> tuple[Worker, WorkerKey, str]:
    worker = Worker.objects.select_for_update(no_key=True).filter(name=name, type=WorkerType.REMOTE).first()
    if worker is None:
        status, kind = WorkerStatus.OFFLINE, WorkerType.REMOTE
        worker = Worker.objects.create(name=name, type=kind, status=status, registered_at=Now())
        worker.refresh_from_db()
    worker_keys.revoke(Q(worker=worker, last_used_at=None))
    return worker, *worker_keys.make_key(worker, lifetime)


def start(worker_id: UUID, told: Start) -> Worker:
    """A process begins to speak for the worker, if no other one does that lives elsewhere.

    What its predecessor held is taken back, as from any process that died. Repeated, it changes nothing.
    """
    worker = take_over(worker_id, told, checked(told))
    result = ReapResult()
    before = Q(worker=worker_id, claimed_at__lt=worker.started_at)
    take_back(before, "another process took its worker's place", result)
    log(result)
    return worker


def checked(told: Start) -> dict[str, Any]:
    """What is written of it, or the reason why not."""
    for name, most in (("pid", MOST_PID), ("pid_namespace", MOST_TICKS), ("start_ticks", MOST_TICKS)):
        if not 0 <= getattr(told, name) <= most:
            raise InvalidInput(f"{name} is 0 to {most}, not {getattr(told, name)}.")
    facts = check_facts("capabilities", told.capabilities)
    return {
        **{name: check_text(name, getattr(told, name), limit) for name, limit in TEXTS.items()},
        "pid": told.pid,
        "pid_namespace": told.pid_namespace,
        "start_ticks": told.start_ticks,
        "queues": [check_queue(queue) for queue in told.queues],
        "slots": check_slots(told.slots),
        "capabilities": facts,
        "gpu": bool(facts.get("gpu")),
    }


@transactional
def take_over(worker_id: UUID, told: Start, facts: dict[str, Any]) -> Worker:
    worker = find(
        Worker.objects.select_for_update(no_key=True).annotate(silent=SecondsSince("last_heartbeat")), worker_id
    )
    if worker.process_uuid == told.process:
        return worker
    refuse_if_alive(worker, told)
    status = F("status") if worker.status == WorkerStatus.DISABLED else busy_or_idle()
    Worker.objects.filter(pk=worker_id).update(
        **facts, process_uuid=told.process, status=status, drain_requested=False, started_at=Now(), last_heartbeat=Now()
    )
    worker.refresh_from_db()
    grace.ensure_service()
    events.record([events.of_worker(worker, EventName.WORKER_ONLINE, f"started on {worker.hostname}")])
    return worker


def refuse_if_alive(worker: Any, told: Start) -> None:
    """Who starts again on the same machine takes over at once; elsewhere only from one that is gone."""
    at_work = worker.process_uuid is not None and worker.status != WorkerStatus.OFFLINE
    heard_lately = worker.silent is not None and worker.silent <= conf.WORKER_OFFLINE_THRESHOLD
    is_here = bool(told.boot_id) and told.boot_id == worker.boot_id
    if at_work and heard_lately and not is_here:
        raise WorkerInUse(name=worker.name, hostname=worker.hostname or "another machine", seconds=worker.silent)


@transactional
def stop(worker_id: UUID, process: UUID | None, metadata: Mapping[str, Any] | None = None) -> Worker:
    """The process exits: nobody speaks for the worker until another one starts.

    One that comes late signs off nobody else: that one would have to start again, and lose what it holds.
    """
    worker = find(Worker.objects.select_for_update(no_key=True), worker_id)
    if worker.process_uuid not in (None, process):
        raise WorkerReplaced(name=worker.name, hostname=worker.hostname)
    if worker.process_uuid is None and worker.status in (WorkerStatus.OFFLINE, WorkerStatus.DISABLED):
        return worker
    status = worker.status if worker.status == WorkerStatus.DISABLED else WorkerStatus.OFFLINE
    Worker.objects.filter(pk=worker_id).update(
        process_uuid=None, status=status, last_heartbeat=Now(), metadata=told_by(worker, metadata)
    )
    events.record([events.of_worker(worker, EventName.WORKER_OFFLINE, "signed off")])
    worker.refresh_from_db()
    return worker
