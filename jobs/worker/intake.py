"""Work comes in: when to look for it, how much of it to claim, and which child gets what."""

import random
from collections.abc import Sequence
from datetime import datetime
from functools import cached_property
from time import monotonic
from uuid import uuid4

from jobs.conf import conf
from jobs.handlers.base import ClaimedJob
from jobs.handlers.registry import Kind, registry
from jobs.wire.messages import MAX_CLAIM
from jobs.wire.names import SOMEWHERE
from jobs.worker.child_handle import ChildHandle
from jobs.worker.claiming import BatchSize, queue_order
from jobs.worker.clerk import Clerk, Found
from jobs.worker.crew import Crew
from jobs.worker.ledger import Ledger
from jobs.worker.nursery import CannotFork
from jobs.worker.options import WorkerOptions
from jobs.worker.queue_client import ClaimOrder
from jobs.worker.wake_ups import WakeUps

POLL, POLL_WITH_WAKE_UPS = 1.0, 30.0
OVERDUE_AGAIN = 0.25  # seconds; what is due and was not found is locked by somebody
CLOSED_FOR = 10.0  # seconds until it looks at the clock again; a wake-up does not open it outside its hours


class Intake:
    def __init__(self, options: WorkerOptions, crew: Crew, clerk: Clerk, ledger: Ledger, wake_ups: WakeUps) -> None:
        self.options, self.crew, self.clerk, self.ledger, self.wake_ups = options, crew, clerk, ledger, wake_ups
        self.batch = BatchSize()
        self.is_open = False  # not before the worker is registered, nor while it is disabled
        self.looking = False
        self.taken = 0
        self.held_back = False  # the last look found nothing, but may have left what must begin at once
        self._look_at = 0.0
        self._look_again = False
        self._hints: frozenset[str] = frozenset()  # where to look, if it is known that there is nothing elsewhere

    # When

    def look_soon(self, *queues: str) -> None:
        """For work somewhere, or in these queues."""
        known_where = bool(queues) and SOMEWHERE not in queues and (bool(self._hints) or self.is_resting)
        self._hints = self._hints.union(queues) if known_where else frozenset()
        self._look_at = 0.0
        self._look_again = self.looking  # a look that is under way may have begun too early to see it

    def look_by_routine(self) -> None:
        """Now, though nobody said that there is work; if somebody has, that stands."""
        self._look_at = min(self._look_at, monotonic())
        self._look_again = self.looking

    @property
    def is_resting(self) -> bool:
        """Whether the last look found nothing anywhere, and nobody has said since that there is something."""
        rests = self.is_open and not self.looking and self._look_at > monotonic()
        return rests and not self.options.until_empty and self.options.window is None

    def patience(self) -> float:
        """Seconds until the next look."""
        return float("inf") if self.looking else max(0.0, self._look_at - monotonic())

    def look(self) -> None:
        """Send the clerk if it is time, and there is room."""
        if self.wake_ups.asks_for_room:
            self.wake_ups.room = self.free_slots()
        if not self.is_open or self.looking or monotonic() < self._look_at:
            return
        if not self.is_within_hours:
            self._look_at = monotonic() + CLOSED_FOR
        elif order := self.next_order():
            self.looking, self._look_again, self._look_at = True, False, float("inf")
            self._hints = frozenset()
            self.clerk.look(order)

    @property
    def is_within_hours(self) -> bool:
        """Whether the hours of this worker, by its own clock, are now."""
        window = self.options.window
        return window is None or window.is_open(datetime.now().astimezone())

    def found(self, found: Found) -> None:
        self.looking = False
        self.taken += len(found.jobs)
        self.held_back = not found.jobs and found.order.leaves_some
        if len(found.jobs) == found.order.limit:
            self.look_soon()  # there may be more
        elif found.jobs or (found.order.queues and not self.options.queues):
            self.look_by_routine()  # it was told where to look, and knows nothing of other queues
        elif not self._look_again:
            self._look_at = monotonic() + self.rest(found.next_due_in)

    def rest(self, next_due_in: float | None) -> float:
        """Seconds to sleep, where nothing was found."""
        interval = self.options.poll_interval or conf.POLL_INTERVAL or self.usual_interval()
        wait = interval * random.uniform(0.9, 1.1)
        if self.crew.forking.wait:  # what needs a process of its own was not even asked for
            wait = min(wait, self.crew.forking.wait)
        return wait if next_due_in is None else min(wait, next_due_in or OVERDUE_AGAIN)

    @property
    def may_have_left_some(self) -> bool:
        """There was no room for all, or there may not have been in the look that is under way."""
        return self.held_back or self.looking

    @property
    def may_find_more(self) -> bool:
        """It had no room for all, or something ended while it looked: what that let go, it may not have seen."""
        return self.held_back or self._look_again

    def usual_interval(self) -> float:
        return POLL_WITH_WAKE_UPS if self.wake_ups.working else POLL

    def given_back(self, jobs: int) -> None:
        self.taken -= jobs

    @property
    def has_had_enough(self) -> bool:
        return self.options.max_jobs is not None and self.taken >= self.options.max_jobs

    # How much

    def next_order(self) -> ClaimOrder | None:
        """Only what can be started: short jobs in batches, so that every slot has a little work ahead."""
        free = self.options.slots - self.crew.occupied_slots
        limit = self.room(free)
        if limit < 1:
            return None
        return ClaimOrder(
            claim_id=uuid4(),  # kept through repeats: if the answer gets lost, the jobs do not
            queues=queue_order(self.options.queues) or sorted(self._hints),
            limit=limit,
            isolated_kinds=self.isolated_kinds,
            isolated_limit=0 if self.crew.forking.wait else max(0, free),
            is_routine=self._look_at > 0,
        )

    @cached_property
    def isolated_kinds(self) -> dict[str, int]:
        """With the slots that each takes. All handlers are imported by now."""
        return {kind.name: self.weight_of(kind) for kind in registry if kind.is_isolated}

    def weight_of(self, kind: Kind) -> int:
        """A worker that is smaller than a job takes it when it has nothing else to do."""
        return min(kind.slots, self.options.slots)

    def free_slots(self) -> int:
        """In which a job could begin at once; none while we look, for what we find goes there."""
        if not self.is_open or self.patience() in (0, float("inf")):
            return 0
        return max(0, self.options.slots - self.crew.occupied_slots)

    def room(self, free: int) -> int:
        now, per_slot = monotonic(), self.batch.per_slot
        room = sum(child.room(per_slot, now) for child in self.crew.pool)
        room = min(room, (self.options.slots - self.crew.isolated_slots) * per_slot, MAX_CLAIM)
        if free < 1 and room < len(self.crew.pool) * per_slot // 2:
            return 0  # there is work ahead: a few more are not worth a call
        if self.options.max_jobs is not None:
            room = min(room, self.options.max_jobs - self.taken)
        return room

    # To whom

    def give_out(self, jobs: Sequence[ClaimedJob]) -> list[ClaimedJob]:
        """Jobs that must run alone get a child of their own, the others go where most room is.

        Returns those for which there was nobody: children have just crashed, or cannot be made.
        """
        now, per_slot = monotonic(), self.batch.per_slot
        shares: dict[ChildHandle, list[ClaimedJob]] = {child: [] for child in self.crew.pool}
        room = {child: child.room(per_slot, now) for child in shares}
        room_of = room.__getitem__
        left: list[ClaimedJob] = []
        for job in jobs:
            if (
                job.crashes or job.kind in self.isolated_kinds
            ):  # long ones, and those that may have killed a process before
                left += self.give_isolated(job)
                continue
            widest = max(room, key=room_of, default=None)
            if widest and len(shares[widest]) < len(widest.free_places):
                room[widest] -= 1
                shares[widest].insert(0 if is_last_attempt(job) else len(shares[widest]), job)
            else:
                left.append(job)
        for child, share in shares.items():
            if share:
                child.give(share, self.ledger.leases_end_at(share))
        return left

    def give_isolated(self, job: ClaimedJob) -> list[ClaimedJob]:
        try:
            kind = registry.find(job.kind)
            child = self.crew.new_isolated_child(self.weight_of(kind) if kind else 1)
        except CannotFork:
            return [job]
        child.give([job], self.ledger.leases_end_at([job]))
        return []


def is_last_attempt(job: ClaimedJob) -> bool:
    """It goes first: were the worker killed while it waits, it would fail for good without having run."""
    return job.attempt >= job.max_attempts
