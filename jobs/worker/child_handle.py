"""A child as the supervisor sees it, and the jobs that it has been given."""

import os
import signal
import socket
import threading
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import monotonic

from jobs.handlers.base import ClaimedJob, ClaimRef
from jobs.worker.board import PLACES, Board
from jobs.worker.messages import Granted, Order, Reason, Reply, Run, Stop, Word
from jobs.worker.nursery import NO_ROOM, CannotFork, Nursery
from jobs.worker.pipes import Speaker, read, shut

KILL_AFTER = 3.0  # seconds between the interruption of a handler and the end of its process
MOST_AT_ONCE = PLACES // 2
LONG = 0.1  # seconds: a job that takes longer is none of those that are run by the batch

OnWords = Callable[["ChildHandle", list[Word]], None]
OnEnd = Callable[["ChildHandle"], None]


@dataclass(eq=False, slots=True)
class Assignment:
    """A claimed job that a child has been given."""

    job: ClaimedJob
    child: "ChildHandle"
    place: int
    given_at: float
    stop_reason: Reason | None = None
    kill_at: float | None = None
    progressed_at: float = 0.0

    @property
    def began_at(self) -> float | None:
        return self.child.board.began_at(self.place)

    @property
    def waits(self) -> bool:
        return self.began_at is None and self.ended_at is None and not self.has_yielded

    @property
    def has_yielded(self) -> bool:
        return self.child.board.has_yielded(self.place)

    @property
    def ended_at(self) -> float | None:
        """When its handler was through, whether or not we have heard how."""
        return self.child.board.ended_at(self.place)

    def stop(self, reason: Reason, *, patience: float | None = None) -> None:
        """Ask the handler to stop; with patience, it is interrupted now and its child killed when that is over."""
        if self.child.exit_code is not None:
            return  # it is dead: how it died says what becomes of its jobs
        if reason == Reason.LOST or self.stop_reason in (None, Reason.CANCELLED):
            self.stop_reason = reason  # the first counts; but a lost claim is lost whatever else was asked
        if patience is not None:
            self.kill_at = min(self.kill_at or float("inf"), monotonic() + patience)
        self.child.send(Stop(self.job.claim, self.stop_reason or reason, force=patience is not None))


class ChildHandle:
    """One child as the supervisor sees it. Two threads carry what is said, so that no child can hold us up."""

    def __init__(self, nursery: Nursery, slots: int, *, isolated: bool, on_words: OnWords, on_hung_up: OnEnd) -> None:
        memory = Board.new_memory()
        try:
            self.board = Board(memory)
            self.pid, self.connection = nursery.spawn(slots, memory)
        finally:
            os.close(memory)
        self.nursery, self.slots, self.isolated = nursery, slots, isolated
        self.weight = 1  # of an isolated one: the slots of the worker that it takes
        self.assignments: dict[ClaimRef, Assignment] = {}
        self.given = 0  # since it began
        self.last_claims: deque[ClaimRef] = deque(maxlen=slots)  # of those that ended: it may still tidy up after them
        self.free_places = deque(range(PLACES))
        self.recalled_places: set[int] = set()  # it has not come to them yet
        self.killed = self.retired = self.hung_up = False
        self.exit_code: int | None = None
        self.stuck_since: float | None = None  # by the watch
        self.last_ended_at = monotonic()  # as far as we have heard
        self._speaker = Speaker(self.connection)
        self._threads = [
            threading.Thread(target=read, args=(self, self.connection, on_words, on_hung_up), daemon=True),
            self._speaker,
        ]
        try:
            for thread in self._threads:
                thread.start()
        except Exception as error:  # no room for one more
            self.kill()
            self.close()
            raise CannotFork(str(error)) from error

    def give(self, jobs: Sequence[ClaimedJob], leases_end_at: Sequence[float]) -> None:
        run, now = [], monotonic()
        for job, lease_ends_at in zip(jobs, leases_end_at, strict=True):
            place = self.free_places.popleft()
            self.board.clear(place)
            self.board.set_lease(place, lease_ends_at)
            self.assignments[job.claim] = Assignment(job, self, place, now)
            run.append((place, job))
        self.given += len(run)
        self.send(Run(tuple(run)))

    def is_brisk(self, now: float) -> bool:
        """Whether what it runs cannot have run for long, told without a look at each of its jobs: so it is usually."""
        return self.slots == 1 and now - self.last_ended_at <= LONG

    def open_slots(self, now: float) -> int:
        """Those that are free, or soon will be: what is put behind a job that takes long would only wait."""
        if self.is_brisk(now):
            return 1
        begun = [assignment.began_at for assignment in self.assignments.values()]
        return self.slots - sum(began is not None and now - began > LONG for began in begun)

    def room(self, per_slot: int, now: float) -> int:
        """How many more jobs it should be given; none while it does not even come to what was called back."""
        if not self.clear_recalled():
            return 0
        open_slots = self.open_slots(now)
        ahead = self.given - self.board.through - (self.slots - open_slots)
        return max(0, min(min(open_slots * per_slot, MOST_AT_ONCE) - ahead, len(self.free_places)))

    def ended(self, claim: ClaimRef) -> Assignment | None:
        """The assignment, which is the child's no more."""
        assignment = self.assignments.pop(claim, None)
        if assignment:
            self.free_places.append(assignment.place)
            self.last_claims.append(claim)
        return assignment

    def waiting_since(self) -> float | None:
        """When the first of the jobs that have not begun was given to it."""
        waiting = [each.given_at for each in self.assignments.values() if each.waits]
        return min(waiting, default=None)

    def recall(self) -> list[ClaimRef]:
        """Take back what has not begun. The child is not asked: it may be held up, or stopped."""
        places = self.board.recall([each.place for each in self.assignments.values()])
        recalled = [each for each in self.assignments.values() if each.place in places]
        for assignment in recalled:
            del self.assignments[assignment.job.claim]
            self.recalled_places.add(assignment.place)
        if recalled and self.isolated:
            self.retire()
        return [assignment.job.claim for assignment in recalled]

    def clear_recalled(self) -> bool:
        """Free the places of jobs that were called back; False while the child has not noticed some of them."""
        for place in [place for place in self.recalled_places if not self.board.is_recalled(place)]:
            self.recalled_places.discard(place)
            self.free_places.append(place)
        return not self.recalled_places

    def send(self, order: Order) -> None:
        self._speaker.say(order)

    def reply(self, number: int, said: Exception | Granted | None) -> None:
        self.send(Reply(number, said))

    def retire(self) -> None:
        """No more orders: it ends when it is through."""
        self.retired = True
        self._speaker.hush()

    def kill(self) -> None:
        if not self.killed:
            self.killed = True
            self.nursery.kill(self.pid)

    def hang_up(self) -> None:
        """Hear what it has said, and no more."""
        shut(self.connection, socket.SHUT_RD)

    def presume_dead(self) -> None:
        """Whoever could tell how it ended is gone, too."""
        self.exit_code = -signal.SIGKILL
        self.hang_up()

    @property
    def is_gone(self) -> bool:
        """It has exited, and everything it said has been heard."""
        return self.exit_code is not None and self.hung_up

    @property
    def had_no_room(self) -> bool:
        """It could not even start its threads."""
        return self.exit_code == NO_ROOM and not self.board.through

    def close(self) -> None:
        """When it is gone; a process that it forked may still hold its end of the pipe."""
        self.retire()
        shut(self.connection, socket.SHUT_RDWR)
        for thread in self._threads:
            if thread.ident:
                thread.join()
        self._speaker.close()
        self.board.close()
