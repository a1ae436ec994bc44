"""How a worker ends: it claims nothing more, lets handlers finish, asks them to stop, kills them, and gives up."""

import logging
import signal
from collections.abc import Sequence
from time import monotonic

from jobs.conf import conf
from jobs.logs import Event
from jobs.worker.child_handle import KILL_AFTER
from jobs.worker.clerk import Clerk
from jobs.worker.crew import HOPELESS, Crew
from jobs.worker.last_waits import ALL_TOGETHER, MOMENT, LastWaits
from jobs.worker.messages import Reason
from jobs.worker.persistence import GivenUp
from jobs.worker.repeating import PATIENCE, Repeating

logger = logging.getLogger("jobs.worker")

NO_DEADLINE = float("inf")
GIVE_UP_AFTER = 3 * KILL_AFTER  # seconds after the interruption: on a queue that does not answer
LEAVE_AFTER = 4 * KILL_AFTER  # the same: whatever is left
TO_KILL = 5.0  # seconds that the nursery has at least to kill whatever lives in it
STOPS_WITHIN = LEAVE_AFTER + ALL_TOGETHER + TO_KILL + MOMENT  # after JOBS_SHUTDOWN_TIMEOUT, whatever hangs
NEVER_ANSWERED = "The queue never answered, so that this worker did nothing at all"
HEARTBEAT_DEAD = "The heartbeat's thread is dead: this worker stops before its leases end."
CHILDREN_DIE = f"Child processes die again and again ({HOPELESS}): this worker gives up."
NURSERY_GONE = "The process that holds this worker's children is gone, and they with it."
FAULT = "Something went wrong in this worker itself: it hands its jobs back and stops"
NO_ANSWER = "The queue does not answer: the reaper will find what was not told."
NOT_DEAD = "A killed process does not end, and the reaper will find its jobs"


class WorkerFailed(Exception):
    """Something is wrong with the worker itself: it cannot go on."""


class Shutdown:
    def __init__(self, crew: Crew, clerk: Clerk) -> None:
        self.crew, self.clerk = crew, clerk
        self.begun = False
        self.failure: BaseException | None = None
        self._signals = 0
        self._interrupt_at = NO_DEADLINE
        self._interrupted = self._told = False

    def begin(self, why: str, seconds: float | None) -> None:
        """Let what runs finish within that time, or without a limit (None)."""
        if not self.begun:
            self.begun = True
            logger.info(Event("stopping", why=why, running=len(self.crew.assignments())))
        if seconds is not None:
            self._interrupt_at = min(self._interrupt_at, monotonic() + seconds)

    def fail(self, failure: BaseException) -> None:
        """Something is wrong with the worker itself: hand back what can be, and say so at the end."""
        if self.failure is None:
            logger.critical("%s", failure)
            self.failure = failure
            self.begin("it cannot go on", 0)

    def on_signal(self, number: int) -> None:
        """The first lets jobs finish, the second hands them back at once, SIGQUIT kills their processes first."""
        self._signals += 1
        self.begin(signal.Signals(number).name, conf.SHUTDOWN_TIMEOUT if self._signals == 1 else 0)
        if number == signal.SIGQUIT:
            self.begin("SIGQUIT", 0)
            self.kill_all()

    def kill_all(self) -> None:
        for assignment in self.crew.assignments():
            assignment.stop_reason = assignment.stop_reason or Reason.STOPPING
        for child in self.crew.children:
            child.kill()

    def dismiss(self, heartbeat: Repeating, helpers: Sequence[Repeating], waits: LastWaits) -> None:
        """Ask all to end, then wait for them together."""
        for child in self.crew.children:
            child.retire()
        for helper in helpers:
            helper.stop()
        heartbeat.await_end(waits)  # a beat that comes after the clerk has signed off would call the worker back
        self.let_clerk_go(waits)
        for helper in helpers:
            helper.await_end(waits)
        self.leave_clerk()

    def let_clerk_go(self, waits: LastWaits) -> None:
        self.clerk.close()
        if not self.clerk.known_as:
            self.clerk.hurry()  # there is nothing to sign off from
        until = monotonic() + PATIENCE
        for thread in (self.clerk, self.clerk.notary):
            waits.wait_for(thread, until)

    def leave_clerk(self) -> None:
        """If it does not come to an end by itself."""
        if self.clerk.is_alive():
            if self.clerk.known_as:
                logger.warning("could not sign off: the queue does not answer")
            self.clerk.give_up()

    def tell_failure(self) -> None:
        if self.failure:
            raise self.failure
        if not self.clerk.known_as:
            why = " ".join(self.clerk.persist.trouble.split()) or "it was not even refused"
            raise GivenUp(f"{NEVER_ANSWERED}: {why}")

    def go_on(self, *, something_to_tell: bool) -> None:
        """Take the next step if it is time."""
        late = monotonic() - self._interrupt_at
        if late >= 0 and not self._interrupted:
            self._interrupted = True
            for assignment in self.crew.assignments():
                assignment.stop(Reason.STOPPING, patience=KILL_AFTER)
        if not something_to_tell:
            self.clerk.hurry()  # a look may be under way, and what it finds must be handed back
        if late >= GIVE_UP_AFTER:
            self.tell_who_lives_on()
            if self.clerk.persist.unanswered_for() >= PATIENCE:
                self.clerk.hurry()  # not closed: it would sign off while the heartbeat goes on

    @property
    def is_hopeless(self) -> bool:
        """Something hangs where nothing reaches it."""
        return monotonic() - self._interrupt_at >= LEAVE_AFTER

    def tell_who_lives_on(self) -> None:
        if not self._told and (undead := self.undead()):
            self._told = True
            logger.warning("a killed process does not end %s", undead)

    def undead(self) -> str:
        """The processes that were killed and have not ended, with their jobs; empty if there are none."""
        held = {child.pid: child.assignments.values() for child in self.crew.children if child.assignments}
        return ", ".join(f"pid={pid} jobs={','.join(str(each.job.id) for each in jobs)}" for pid, jobs in held.items())

    def why_it_leaves(self) -> GivenUp:
        """Although there is something to tell."""
        if undead := self.undead():
            return GivenUp(f"{NOT_DEAD}: {undead}")
        return GivenUp(self.clerk.notary.delay(monotonic()) or self.clerk.registrar.delay() or NO_ANSWER)
