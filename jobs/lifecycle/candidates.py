"""Candidates: the jobs that a claim locks and takes, and those that it passes by or holds back."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from jobs.lifecycle import wake_up
from jobs.lifecycle.isolation import IsolatedRoom
from jobs.lifecycle.limits import Gate, Name, names_of
from jobs.lifecycle.line import Line, ReadyJob
from jobs.lifecycle.sql.bound import Bound
from jobs.lifecycle.sql.together import run_together
from jobs.models import Worker, ready_heads
from jobs.states import LimitTarget

HEAD = 50  # jobs at the front that tell what kind of line it is
ROUNDS, AHEAD = 20, 200  # how often, and how far, a claim looks behind jobs that are held back


def lock_candidates(
    worker: Worker, queues: Sequence[str], limit: int, room: IsolatedRoom, gate: Gate, kinds: Sequence[str] = ()
) -> list[ReadyJob]:
    """Lock the first ready jobs, queue by queue: one query over several queues reads them all and sorts."""
    jobs: list[ReadyJob] = []
    left_behind: list[str] = []
    for queue in queues or queues_by_urgency():
        if len(jobs) == limit or room.is_reserved:
            break
        haul = Haul(Line(queue, worker, kinds), limit - len(jobs), room, gate)
        haul.fill()
        if haul.left_some:
            left_behind.append(queue)
        jobs += haul.taken
    wake_up.send_to(left_behind)  # who looked meanwhile found them locked
    return jobs


def queues_by_urgency() -> list[str]:
    """All queues with ready jobs that are not paused, the one whose first job is most urgent at the front."""
    [found] = run_together([Bound(ready_heads.statement(paused=False), [])])
    return list(dict.fromkeys(head.queue for head in ready_heads.heads_of(found.rows)))


@dataclass
class Haul:
    """What one claim takes from one line."""

    line: Line
    limit: int
    room: IsolatedRoom
    gate: Gate
    taken: list[ReadyJob] = field(default_factory=list)
    known: set[int] = field(default_factory=set)
    surplus: bool = False
    unfinished: bool = False  # there is more to look at than this claim had patience for

    def fill(self) -> None:
        if not self.room.left:
            self.surplus = True
        elif not self.took_from_head():
            self.repeat(lambda round_: self.line.lock_first(self.limit + round_ * AHEAD + len(self.known)))
        if self.surplus and not self.is_over:
            self.repeat(lambda _: self.lock_passed_by())

    def took_from_head(self) -> bool:
        """Of a line full of what must begin at once, no hundreds are to be locked for a few. A short one ends here."""
        if self.limit <= self.room.left:
            return False
        wanted = int(self.room.left) + 1
        head = self.line.lock_first(wanted)
        is_all = len(head) < wanted
        if not is_all and not self.room.is_overfilled_by(head):
            return False
        if self.sift(head) and is_all:
            return False  # some were held back: others may be behind them
        self.surplus |= not is_all
        return True

    def repeat(self, look: "Look") -> None:
        """Look again while jobs are held back: what stands behind them is not to wait for them."""
        for round_ in range(ROUNDS):
            if not self.sift(look(min(round_, 1))) or self.is_over:
                return
        self.unfinished = True

    @property
    def is_over(self) -> bool:
        return len(self.taken) == self.limit or self.room.is_reserved or (bool(self.gate.limits) and self.is_full)

    @property
    def is_full(self) -> bool:
        queue = Name(LimitTarget.QUEUE, self.line.queue)
        return queue in self.gate.limits and not self.gate.has_room(queue)

    @property
    def left_some(self) -> bool:
        return self.unfinished or bool(self.taken and self.surplus)

    def lock_passed_by(self) -> Sequence[ReadyJob]:
        """What needs no room; past a long row of what does it is not looked for to the end."""
        wanted = self.limit - len(self.taken)
        if self.room.is_clear(self.line.front(HEAD)):
            return self.line.lock_light(self.room.kinds, wanted + len(self.known))
        return self.line.lock(self.room.passed_by(self.line.front(), self.known), wanted)

    def sift(self, locked: Sequence[ReadyJob]) -> int:
        """Take what there is room for; returns how many were held back by their limits."""
        new = [job for job in locked if job.pk not in self.known]
        self.gate.learn(name for job in new if job.limited for name in names_of(job))
        blocked: list[tuple[ReadyJob, Name]] = []
        for job in new:
            self.known.add(job.pk)
            name = self.gate.blocking(job)
            if name:
                blocked.append((job, name))
            elif (weight := self.room.weight_of(job)) > self.room.left:
                self.surplus = True
                self.room.reserve_for(job)
            elif not self.is_over:
                self.taken.append(job)
                self.room.left -= weight
                self.gate.take(job)
        return self.gate.hold_back(blocked)


Look = Callable[[int], Sequence[ReadyJob]]
