"""The supervisor: it runs no handler, but sees to it that handlers run, end in time, and that the queue hears of it.

All that happens to a worker (a signal, a word from a child, an answer of the queue) is put into one inbox, and dealt
with here, one after the other. Nothing waits for the database, and for a child only until it is made (10 s at most).
"""

import logging
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict
from functools import partial
from queue import Empty, SimpleQueue
from time import monotonic

from jobs.conf import conf
from jobs.handlers.base import Answer, ClaimRef, Orders, Outcome
from jobs.handlers.folders import Folders
from jobs.logs import Event
from jobs.states import TERMINAL, Verdict
from jobs.stop_signals import signals_caught
from jobs.worker.child_handle import Assignment, ChildHandle
from jobs.worker.chores import chores
from jobs.worker.clerk import Clerk, Found
from jobs.worker.crew import Crew
from jobs.worker.desk import Desk
from jobs.worker.display import Display
from jobs.worker.endings import outcome_with_child
from jobs.worker.heartbeat import Heartbeat
from jobs.worker.housekeeping import Janitor
from jobs.worker.intake import Intake
from jobs.worker.last_waits import last_waits
from jobs.worker.ledger import Ledger
from jobs.worker.messages import Ended, Word
from jobs.worker.nursery import Exit, Nursery, NurseryGone
from jobs.worker.options import WorkerOptions, WorkerTally
from jobs.worker.orders import DISABLED, pass_on, stop_all
from jobs.worker.persistence import GivenUp
from jobs.worker.queue_client import QueueClient
from jobs.worker.repeating import Repeating
from jobs.worker.shutdown import CHILDREN_DIE, FAULT, HEARTBEAT_DEAD, NURSERY_GONE, TO_KILL, Shutdown, WorkerFailed
from jobs.worker.timekeeper import Timekeeper
from jobs.worker.wake_ups import WakeUps
from jobs.worker.watch import recall, watch

logger = logging.getLogger("jobs.worker")

TICK, IDLE_TICK, LOOK_ROUND = 0.1, 1.0, 0.05


class Supervisor:
    def __init__(
        self, client: QueueClient, nursery: Nursery, folders: Folders, options: WorkerOptions, display: Display
    ) -> None:
        self.nursery, self.folders, self.options, self.display = nursery, folders, options, display
        self.inbox: SimpleQueue[Callable[[], None]] = SimpleQueue()
        self.ledger, self.janitor = Ledger(), Janitor(folders)
        self.crew = Crew(
            nursery, options.processes, options.concurrency, self.later(self.on_words), self.later(self.on_hung_up)
        )
        self.clerk = Clerk(
            client,
            self.ledger,
            reaps_first=options.is_reaper,
            ticks_first=options.is_timekeeper,
            beat_before_leaving=(lambda: self.heartbeat.beat()) if options.until_empty else None,
            last_words=lambda: asdict(self.desk.tally),
            on_registered=self.later(self.on_registered),
            on_found=self.later(self.on_found),
            on_finished=self.later(self.on_finished),
            on_failure=self.later(self.on_failure),
        )
        self.desk = Desk(self.clerk, self.janitor, display)
        self.heartbeat = Heartbeat(client, self.ledger, self.later(self.on_orders), self.desk.tally)
        look_soon = self.later(lambda *queues: self.intake.look_soon(*queues))
        timekeeper = Timekeeper(client, look_soon)
        self.wake_ups = WakeUps(client, look_soon, options.queue_names, timekeeper.on_word)
        self.helpers: list[Repeating] = [self.heartbeat, self.wake_ups, *chores(client, folders, options, timekeeper)]
        self.intake = Intake(options, self.crew, self.clerk, self.ledger, self.wake_ups)
        self.shutdown = Shutdown(self.crew, self.clerk)
        self.began_at = self.look_round_at = monotonic()

    def later(self, what: Callable[..., None]) -> Callable[..., None]:
        """The same call, made by the supervisor's own thread when it comes to it."""
        return lambda *arguments: self.inbox.put(partial(what, *arguments))

    # The loop

    def run(self) -> WorkerTally:
        self.nursery.watch(self.later(self.on_exit), self.later(self.on_nursery_gone))
        self.janitor.start()
        with signals_caught(self.later(self.shutdown.on_signal)):
            self.clerk.start()  # not before: who is seen to be online can be told to stop
            try:
                with self.display:
                    while not self.is_done():
                        self.go_on()
            finally:
                self.end()
        self.shutdown.tell_failure()
        return self.desk.tally

    def go_on(self) -> None:
        for step in (self.tick, self.deal_with_what_happened):  # what fails in one does not keep us from the other
            try:
                step()
            except NurseryGone:
                self.on_nursery_gone()
            except Exception as error:  # a fault of our own: jobs are handed back, not left to be charged for it
                logger.exception("the supervisor failed")
                self.shutdown.fail(WorkerFailed(f"{FAULT} ({error!r})."))
                self.hand_back_what_nobody_has()

    def tick(self) -> None:
        """Work first: who has slept for a while has everything to look at, and was woken for a job."""
        now = monotonic()
        if not self.shutdown.begun:
            self.look_for_work(now)
        else:
            self.shutdown.go_on(something_to_tell=bool(self.desk.unfinished))
            if self.shutdown.is_hopeless:
                self.on_failure(self.shutdown.why_it_leaves())
        if now >= self.look_round_at:
            self.look_round(now)

    def look_for_work(self, now: float) -> None:
        if self.options.max_minutes and now - self.began_at >= self.options.max_minutes * 60:
            self.shutdown.begin("its time is over", conf.SHUTDOWN_TIMEOUT)
        elif self.options.until_empty and not self.desk.unfinished and not self.intake.is_within_hours:
            self.shutdown.begin("its hours are over", 0)
        else:
            self.crew.man()
            if not self.clerk.notary.is_swamped:
                self.intake.look()

    def look_round(self, now: float) -> None:
        """At everything we have: not each time that something happens, for that is thousands of times a second."""
        self.look_round_at = now + LOOK_ROUND
        watch(self.crew, self.ledger, now)
        closed = self.shutdown.begun or not self.intake.is_open
        if closed:
            self.wake_ups.room = 0
        self.hand_back(recall(self.crew, now, everything=closed), "it had not begun")
        self.clerk.notary.complain(now)
        self.display.refresh(self.crew.assignments(), self.desk.tally)
        if self.heartbeat.ident and not self.heartbeat.is_alive():
            self.shutdown.fail(WorkerFailed(HEARTBEAT_DEAD))

    def deal_with_what_happened(self) -> None:
        """Wait for the first thing for a moment, and deal with all there are."""
        try:
            self.inbox.get(timeout=self.patience())()
            while True:
                self.inbox.get_nowait()()
        except Empty:
            return

    def patience(self) -> float:
        wait = self.intake.patience()
        is_due = wait == 0  # and yet it did not look: there was a reason, which will pass
        return TICK if is_due or self.desk.unfinished or self.shutdown.begun else min(IDLE_TICK, wait)

    def is_done(self) -> bool:
        return self.shutdown.begun and not self.desk.unfinished and not self.intake.looking

    def end(self) -> None:
        with last_waits() as waits:
            self.shutdown.dismiss(self.heartbeat, self.helpers, waits)
            self.nursery.close(max(waits.left, TO_KILL))
            for child in self.crew.children:
                child.close()
            self.janitor.close(waits)

    # The queue answers

    def on_registered(self, name: str) -> None:
        logger.info(Event("worker online", name=name, slots=self.options.slots))
        for helper in self.helpers:
            helper.on_refused = self.later(self.on_failure)
            helper.start()
        self.intake.is_open = True

    def on_found(self, found: Found) -> None:
        self.intake.found(found)
        self.desk.take(found.jobs)
        if self.shutdown.begun or not self.intake.is_open:
            self.hand_back([job.claim for job in found.jobs], "its worker takes no more jobs")
        else:
            left = self.intake.give_out(found.jobs)
            self.hand_back([job.claim for job in left], "no process was there to run it")
        self.desk.show(found.jobs)  # now that they are under way: to write a line takes as long as to give a job out
        if self.options.until_empty and not self.desk.unfinished and not self.intake.may_find_more:
            self.shutdown.begin("nothing is left to do", 0)

    def on_finished(self, answers: Sequence[Answer]) -> None:
        self.desk.file(answers)
        waits_again = any(answer.status not in TERMINAL for answer in answers)
        if not self.desk.unfinished or waits_again or self.intake.may_have_left_some:
            self.intake.look_by_routine()  # what is to be tried again may be due at once, and there is room now
        if self.intake.has_had_enough and not self.desk.unfinished:
            self.shutdown.begin("it has done the jobs it was asked to do", 0)

    def on_orders(self, orders: Orders) -> None:
        pass_on(orders, self.crew, self.ledger)
        if orders.disabled and self.intake.is_open:
            stop_all(self.crew)
            if self.options.until_empty:
                self.shutdown.fail(WorkerFailed(DISABLED))
        self.intake.is_open = not orders.disabled
        if orders.drain:
            self.shutdown.begin("it was asked to drain", None)

    def on_failure(self, failure: BaseException) -> None:
        """The clerk is gone: nothing can be told any more; the reaper will find what is left."""
        if self.desk.unfinished or not isinstance(failure, GivenUp):
            self.shutdown.fail(failure)
        self.desk.unfinished.clear()
        self.intake.looking = False

    # Children speak

    def on_words(self, child: ChildHandle, words: list[Word]) -> None:
        self.desk.pass_on(child, words)
        self.on_ended(child, [word for word in words if isinstance(word, Ended)])

    def on_ended(self, child: ChildHandle, words: Sequence[Ended]) -> None:
        ended = [(assignment, word) for word in words if (assignment := child.ended(word.claim))]
        if not ended:
            return
        child.last_ended_at = monotonic()
        for _, word in ended:
            self.intake.batch.note(word.seconds)
        self.settle((assignment, outcome_with_child(assignment, word.outcome)) for assignment, word in ended)
        if child.isolated:
            child.retire()

    def settle(self, settled: Iterable[tuple[Assignment, Outcome | None]]) -> None:
        """Hand in how attempts ended; there is no outcome where the claim was lost."""
        ended = list(settled)
        self.hand_in([outcome for _, outcome in ended if outcome])
        lost = [assignment.job.claim for assignment, outcome in ended if not outcome]
        if lost:
            self.desk.drop(lost)
            self.on_finished([Answer(claim) for claim in lost])

    def hand_back(self, claims: Sequence[ClaimRef], reason: str) -> None:
        self.hand_in([Outcome.released(claim, reason) for claim in claims])

    def hand_in(self, outcomes: Sequence[Outcome]) -> None:
        self.intake.given_back(sum(outcome.verdict == Verdict.RELEASED for outcome in outcomes))
        self.desk.hand_in(outcomes)

    # Children end

    def on_exit(self, exited: Exit) -> None:
        child = self.crew.find(exited.pid)
        if child:
            child.exit_code = exited.code
            self.bury(child)

    def on_hung_up(self, child: ChildHandle) -> None:
        child.hung_up = True
        self.bury(child)

    def bury(self, child: ChildHandle) -> None:
        """Once it is dead and all it said was heard: what it had not finished is settled as the board shows it."""
        if not child.is_gone or child not in self.crew.children:
            return
        left = list(child.assignments.values())
        for claim in (*child.assignments, *child.last_claims):
            self.janitor.remove_scratch(claim)
        self.settle([(assignment, outcome_with_child(assignment, None)) for assignment in left])
        for assignment in left:
            child.ended(assignment.job.claim)
        by_itself = not (child.killed or child.isolated or child.had_no_room or self.shutdown.begun)
        self.crew.remove(child)
        if by_itself:
            logger.error(Event("a child process died", pid=child.pid, exit_code=child.exit_code))
            if self.crew.hopeless:
                self.shutdown.fail(WorkerFailed(CHILDREN_DIE))

    def on_nursery_gone(self) -> None:
        """All children die with it; of a job that killed it, the board knows."""
        if self.is_done():
            return
        self.shutdown.fail(WorkerFailed(NURSERY_GONE))
        for child in list(self.crew.children):
            child.presume_dead()
            self.bury(child)  # if it has hung up before; else when it does
        self.hand_back_what_nobody_has()

    def hand_back_what_nobody_has(self) -> None:
        given = {assignment.job.claim for assignment in self.crew.assignments()}
        self.hand_back(self.desk.untold(given), "no process was there to run it")
