"""Heartbeat: a worker says that it lives, renews the claims it lists, and is told what to do."""

from collections.abc import Collection, Mapping
from itertools import starmap
from typing import Any
from uuid import UUID

from django.db.models import F

from jobs.db import Now, transactional
from jobs.given import Given, GivenList
from jobs.handlers.base import ClaimRef, Orders
from jobs.lifecycle import events, grace
from jobs.lifecycle.fence import ref_of
from jobs.lifecycle.locked_job import LOCKED_FIELDS, LockedJob
from jobs.lifecycle.new_job import check_text
from jobs.lifecycle.sql.built_once import Statement, built_once, select, update
from jobs.lifecycle.transition import locking
from jobs.lifecycle.workers import MAX_FACTS, busy_or_idle, find, told_by
from jobs.models import Job, JobQuerySet, Worker
from jobs.sanitise import clean_json
from jobs.states import EventName, Status, WorkerStatus


def heartbeat(
    worker_id: UUID,
    claims: Collection[ClaimRef] = (),
    *,
    capabilities: Mapping[str, Any] | None = None,
    metadata: Mapping[str, Any] | None = None,
    version: str | None = None,
    lists_all: bool = True,
) -> Orders:
    """Renew what is listed, also if its lease ran out and nobody took it. What is not mentioned stays as it is.

    A beat that does not list all, because a claim is being made whose answer may still come, counts against none.
    The worker's own beat is committed first: whatever holds one of its jobs, it counts as alive.
    """
    worker = beat(worker_id, capabilities, metadata, version)
    renewed, skipped = renew(worker_id, claims, lists_all)
    held = renewed | skipped
    return Orders(
        cancel=tuple(ref for ref, job in held.items() if job.cancel_requested_at),
        lost=tuple(claim for claim in claims if claim not in held),
        unrenewed=tuple(skipped),
        drain=worker.drain_requested,
        disabled=worker.status == WorkerStatus.DISABLED,
    )


Held = dict[ClaimRef, LockedJob]


@transactional
def renew(worker_id: UUID, claims: Collection[ClaimRef], lists_all: bool = True) -> tuple[Held, Held]:
    """Renew what is listed and held; what is held and not in a list of all is counted: nobody may be working on it.

    Returns what was renewed, and what is held but was skipped: a row that somebody else has locked is left for the
    next beat, so that it costs no other its lease.
    """
    listed = set(claims)
    locked = {ref_of(job): job for job in starmap(LockedJob, locked_jobs().rows(worker=worker_id))}
    renewed = {ref: job for ref, job in locked.items() if ref in listed}
    unlisted = [job.pk for ref, job in locked.items() if ref not in listed] if lists_all else []
    if renewed:
        renewal().run(ids=[job.pk for job in renewed.values()])
    if unlisted:
        Job.objects.with_ids(unlisted).update(unlisted_beats=F("unlisted_beats") + 1)
    if listed == renewed.keys():
        return renewed, {}
    as_committed = {ref_of(job): job for job in starmap(LockedJob, running_jobs().rows(worker=worker_id))}
    return renewed, {ref: job for ref, job in as_committed.items() if ref in listed - renewed.keys()}


def running() -> JobQuerySet:
    return Job.objects.filter(worker=Given("worker", Worker._meta.pk), status=Status.RUNNING)


@built_once
def running_jobs() -> Statement:
    return select(running().values_list(*LOCKED_FIELDS))


@built_once
def locked_jobs() -> Statement:
    return select(locking(running(), skip_locked=True).values_list(*LOCKED_FIELDS))


@built_once
def renewal() -> Statement:
    return update(Job.objects.with_ids(GivenList("ids")), {"lease_expires_at": Now() + F("lease"), "unlisted_beats": 0})


@transactional
def beat(
    worker_id: UUID,
    capabilities: Mapping[str, Any] | None = None,
    metadata: Mapping[str, Any] | None = None,
    version: str | None = None,
) -> Worker:
    worker = find(Worker.objects.select_for_update(no_key=True), worker_id)
    changes: dict[str, Any] = {"last_heartbeat": Now()}
    if worker.status != WorkerStatus.DISABLED:
        changes["status"] = busy_or_idle()
    if capabilities is not None:
        facts = {**worker.capabilities, **capabilities}
        changes |= {"capabilities": clean_json(facts, MAX_FACTS), "gpu": bool(facts.get("gpu"))}
    if metadata is not None:
        changes["metadata"] = told_by(worker, metadata)
    if version is not None:
        changes["version"] = check_text("version", version, 50)
    Worker.objects.filter(pk=worker_id).update(**changes)
    if worker.status == WorkerStatus.OFFLINE:
        events.record([events.of_worker(worker, EventName.WORKER_ONLINE, "heartbeat received after it was offline")])
    grace.beat()
    return worker
