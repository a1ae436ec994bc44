"""Reap: take jobs back from workers that will not finish them, and mark workers offline.

Rules: (a) the worker's process is proven dead; (b) the lease is over and the worker is offline, disabled or gone;
(c) the lease was over long ago, whatever the worker says; and claims that two heartbeats of their worker left out.
"""

import logging
from dataclasses import asdict, dataclass, field
from datetime import timedelta
from functools import reduce
from operator import or_
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import Exists, OuterRef, Q
from django.db.models.functions import Now as StatementNow

from jobs.conf import conf
from jobs.db import Now, blames_database, transactional
from jobs.lifecycle import call_budget, counts, events, grace, limits, transition, turns, waiting
from jobs.lifecycle.ending import Ending, charged_for_crash, given_back
from jobs.lifecycle.workers import refresh_status
from jobs.models import Claim, Job, Worker
from jobs.process_identity import ProcessIdentity, proven_dead, this_process
from jobs.states import LIVE_WORKER, EventName, Status, WorkerStatus

logger = logging.getLogger("jobs.reap")

BATCH = 500
MAX_BATCHES = 1000
BEATS_UNTIL_UNLISTED = 2
CLAIMS_KEPT = timedelta(hours=1)  # far longer than any lost answer is asked for again
NOBODY = Q(pk__in=())


@dataclass
class ReapResult:
    """What one reap did: ids of jobs by what became of them, and names of workers."""

    requeued: list[int] = field(default_factory=list)
    failed: list[int] = field(default_factory=list)
    cancelled: list[int] = field(default_factory=list)
    released: list[int] = field(default_factory=list)
    workers_offline: list[str] = field(default_factory=list)
    in_grace: bool = False
    dry_run: bool = False

    @property
    def jobs(self) -> int:
        return len(self.requeued) + len(self.failed) + len(self.cancelled) + len(self.released)

    def add(self, batch: "ReapResult") -> None:
        self.requeued += batch.requeued
        self.failed += batch.failed
        self.cancelled += batch.cancelled
        self.released += batch.released

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


class DryRunOver(Exception):
    """Rolls a dry run back."""


def reap_once(*, dry_run: bool = False, here: ProcessIdentity | None = None) -> ReapResult:
    """Find and free what crashed workers left behind. `here` says where the reaper looks for processes."""
    result = ReapResult(dry_run=dry_run)
    if not dry_run:
        turns.note("reap")
        reap_all(result, here or this_process())
        tidy()
    else:
        try:
            with transaction.atomic():
                reap_all(result, here or this_process())
                raise DryRunOver
        except DryRunOver:
            pass  # everything it did is undone; what it would do is in the result
    log(result)
    return result


def reap_in_turn(here: ProcessIdentity | None = None) -> ReapResult | None:
    """What each worker calls each interval: ten of them reap no more than one. None where it was not its turn.

    Dead processes can be looked for by their own machine alone, and by one worker of it; all else is for one of all.
    """
    here = here or this_process()
    nearby = here.provable and turns.take(f"reap {here.boot_id} {here.pid_namespace}", conf.REAP_INTERVAL)
    everywhere = turns.take("reap", conf.REAP_INTERVAL)
    if not nearby and not everywhere:
        return None
    result = ReapResult()
    if nearby:
        reap_nearby(result, here)
    if everywhere:
        reap_everywhere(result)
        tidy()
    log(result)
    return result


def tidy() -> None:
    """What must happen every minute or so, and is cheap: it comes along with the reaper."""
    counts.fold()
    turns.forget_old()
    call_budget.forget_old()
    limits.sweep()
    transition.settle(waiting.mend())
    still_held = Job.objects.running().values("claim_id")
    Claim.objects.filter(made_at__lt=StatementNow() - CLAIMS_KEPT).exclude(pk__in=still_held).delete()


def reap_all(result: ReapResult, here: ProcessIdentity) -> None:
    reap_nearby(result, here)
    reap_everywhere(result)


def reap_nearby(result: ReapResult, here: ProcessIdentity) -> None:
    """Rule (a)."""
    dead = find_dead_workers(here)
    mark_offline(Q(pk__in=dead), "its process is gone", result)
    take_back(Q(worker__in=dead), "the process of its worker is gone", result)


def reap_everywhere(result: ReapResult) -> None:
    """All that needs no look at processes."""
    take_back(unlisted(), "its worker does not list it", result, charge=False)
    shields = [shield for shield in (grace.shielded_workers(), grace.shielded_remote_workers()) if shield is not None]
    result.in_grace = bool(shields)
    judge(reduce(or_, shields, NOBODY), result)


def judge(shielded: Q, result: ReapResult) -> None:
    """Rules (b) and (c), with an eye closed to the workers that are shielded."""
    mark_offline(silent() & ~shielded, "no heartbeat for too long", result)
    fair_game = Q(~Exists(Worker.objects.filter(shielded, pk=OuterRef("worker_id"))))
    left_alone = expired() & Q(~Exists(live_worker()))
    take_back(left_alone & fair_game, "its lease is over and its worker is not there", result)
    if conf.STALE_LOCK_AGE:
        take_back(expired(conf.STALE_LOCK_AGE) & fair_game, "its lease was over for too long", result)


def find_dead_workers(here: ProcessIdentity) -> list[UUID]:
    """Rule (a): workers of this machine, boot and pid namespace whose process is no more."""
    if not here.provable:
        return []
    holding = Job.objects.filter(worker=OuterRef("pk"), status=Status.RUNNING)
    nearby = Worker.objects.filter(
        Exists(holding) | Q(status__in=LIVE_WORKER), boot_id=here.boot_id, pid_namespace=here.pid_namespace
    )
    return [worker.pk for worker in nearby if proven_dead(worker.process, here)]


def silent() -> Q:
    """Workers not heard of for too long, counted from their registration if they never beat."""
    threshold = Now() - timedelta(seconds=conf.WORKER_OFFLINE_THRESHOLD)
    return Q(last_heartbeat__lt=threshold) | Q(last_heartbeat=None, registered_at__lt=threshold)


def expired(ago: float = 0) -> Q:
    return Q(lease_expires_at__lte=Now() - timedelta(seconds=ago))


def live_worker() -> Any:
    return Worker.objects.live().filter(pk=OuterRef("worker_id"))


def mark_offline(which: Q, reason: str, result: ReapResult) -> None:
    result.workers_offline += mark_offline_together(which, reason)


@transactional
def mark_offline_together(which: Q, reason: str) -> list[str]:
    """Locked and looked at again: a heartbeat that comes first wins. Disabled workers stay disabled."""
    workers = list(Worker.objects.live().filter(which).order_by("pk").select_for_update(no_key=True, skip_locked=True))
    if workers:
        Worker.objects.filter(pk__in=[worker.pk for worker in workers]).update(status=WorkerStatus.OFFLINE)
        events.record(events.of_worker(worker, EventName.WORKER_OFFLINE, reason) for worker in workers)
    return [worker.name for worker in workers]


def take_back(which: Q, reason: str, result: ReapResult, *, charge: bool = True) -> None:
    """In batches; each adds to the result once it is committed, for a batch that collides is tried again."""
    for _ in range(MAX_BATCHES):
        try:
            taken = take_back_batch(which, reason, charge)
        except Exception as error:  # whatever is wrong with one of the rows
            if blames_database(error):
                raise
            take_back_each(which, reason, result, charge)
            return
        result.add(taken)
        if taken.jobs < BATCH:
            return


def take_back_each(which: Q, reason: str, result: ReapResult, charge: bool) -> None:
    """One that cannot be taken back holds up no other."""
    for job_id in list(Job.objects.running().filter(which).order_by("pk").values_list("pk", flat=True)):
        try:
            result.add(take_back_batch(which & Q(pk=job_id), reason, charge))
        except Exception as error:
            if blames_database(error):
                raise
            logger.exception("a job cannot be taken back job=%s", job_id)


@transactional
def take_back_batch(which: Q, reason: str, charge: bool) -> ReapResult:
    """Decision and write under one lock: a completion or heartbeat that comes first wins, and this sees no row."""
    result = ReapResult()
    jobs = transition.lock(Job.objects.running().filter(which), skip_locked=True, limit=BATCH)
    limits.hold_still(jobs)
    for job in jobs:
        end_claim(job, reason, charge, result)
    refresh_status({job.worker_id for job in jobs})
    return result


def unlisted() -> Q:
    """Claims that their worker does not know of: the answer to its claim call was lost, so nobody runs them."""
    return Q(unlisted_beats__gte=BEATS_UNTIL_UNLISTED)


def end_claim(job: Job, reason: str, charge: bool, result: ReapResult) -> None:
    """A cancel request wins; else an attempt whose start was marked is charged, and one that never began is not."""
    if job.cancel_requested_at:
        ending, became = Ending(Status.CANCELLED, EventName.CANCELLED, reason=reason), result.cancelled
    elif job.has_started and charge:
        error = f"Attempt {job.attempt} of {job.max_attempts} was lost with worker {job.last_worker_name}: {reason}."
        ending = charged_for_crash(job, reason, error)
        became = result.failed if ending.to == Status.FAILED else result.requeued
    else:
        ending, became = given_back(job, EventName.REAPED, reason), result.released
    ending.move([job])
    became.append(job.pk)


def log(result: ReapResult) -> None:
    if result.jobs or result.workers_offline:
        logger.info(
            "released stale running jobs count=%d requeued=%d failed=%d cancelled=%d released=%d workers_offline=%d"
            " dry_run=%s",
            result.jobs,
            len(result.requeued),
            len(result.failed),
            len(result.cancelled),
            len(result.released),
            len(result.workers_offline),
            str(result.dry_run).lower(),
        )
