"""A child: the process that runs handlers. It talks to the supervisor alone, never to the queue."""

import os
import signal
import threading
from collections.abc import Callable, Sequence
from functools import partial
from multiprocessing.connection import Connection
from queue import SimpleQueue
from time import monotonic

from django.db import close_old_connections, connections

from jobs import tracing
from jobs.handlers.base import ClaimRef, Outcome
from jobs.handlers.context import Context
from jobs.handlers.files import JobFiles
from jobs.handlers.folders import Folders
from jobs.handlers.registry import registry
from jobs.stop_signals import STOP_SIGNALS
from jobs.worker.attempt import Attempt
from jobs.worker.board import Board
from jobs.worker.connections import ConnectionsMade, clean_connections
from jobs.worker.execution import outcome_of_stop, run_attempt
from jobs.worker.leases import last_moment, lease_clock, margin
from jobs.worker.leftovers import kill_own_children
from jobs.worker.messages import Ended, Reason, Reply, Run, Stop
from jobs.worker.nursery import NO_ROOM, ChildMain
from jobs.worker.outbox import Outbox
from jobs.worker.reporting import AttemptReporter, Replies
from jobs.worker.slots import MainSlot, Slot, ThreadSlot

LOOK_AT_LEASES = 0.1  # seconds


def is_exclusive(attempt: Attempt) -> bool:
    kind = registry.find(attempt.job.kind)
    return bool(kind and kind.exclusive)


FilesFor = Callable[[ClaimRef, Context], JobFiles]  # of one attempt; made in the child, after the fork


def child_main(worker_name: str, folders: Folders, files: FilesFor | None = None) -> ChildMain:
    def main(connection: Connection, board: int, slots: int) -> None:
        for number in STOP_SIGNALS:  # as a function: what is ignored would be ignored by the programs it starts, too
            signal.signal(number, lambda number, frame: None)
        Child(connection, Board(board), slots, worker_name, folders, files).run()

    return main


class Child:
    def __init__(
        self,
        connection: Connection,
        board: Board,
        slots: int,
        worker_name: str,
        folders: Folders,
        files: FilesFor | None = None,
    ) -> None:
        self.connection, self.board, self.worker_name, self.folders = connection, board, worker_name, folders
        self.files = files
        self.inbox: SimpleQueue[Attempt | None] = SimpleQueue()
        # Once it is broken, nobody would hear how our attempts end.
        self.outbox = Outbox(connection, self.has_more_to_do, on_broken=lambda: os._exit(1))
        self.replies, self.connections_made = Replies(), ConnectionsMade()
        self.attempts: dict[ClaimRef, Attempt] = {}
        self.attendance, self.at_work = threading.Lock(), 0
        self.pid, self.umask = os.getpid(), os.umask(0)
        os.umask(self.umask)
        self.folder = os.open(".", os.O_PATH | os.O_DIRECTORY)  # by its name it would be looked for after each job
        self.main_slot = MainSlot(self.inbox, self.work)
        self.thread_slots = [ThreadSlot(self.inbox, self.work) for _ in range(slots - 1)]

    @property
    def slots(self) -> Sequence[Slot]:
        return [self.main_slot, *self.thread_slots]

    def has_more_to_do(self) -> bool:
        return not self.inbox.empty()

    def run(self) -> None:
        self.start_threads()
        self.main_slot.loop()
        self.outbox.close()
        connections.close_all()
        tracing.flush()

    def start_threads(self) -> None:
        try:
            self.outbox.start()
            for slot in self.slots:
                slot.start()
            threading.Thread(target=self.obey, name="orders", daemon=True).start()
        except RuntimeError:  # the limit of the machine, or of the service: our supervisor says so
            os._exit(NO_ROOM)

    def obey(self) -> None:
        """Read orders until the supervisor closes the pipe, or is gone."""
        while True:
            try:
                while (patience := self.patience()) and not self.connection.poll(patience):
                    self.watch_leases()
                    self.main_slot.insist()
                order = self.connection.recv()
            except (EOFError, OSError):
                return self.leave()
            if isinstance(order, Run):
                self.take(order)
            elif isinstance(order, Stop):
                self.stop(order)
            elif isinstance(order, Reply):
                self.replies.arrived(order)

    def patience(self) -> float | None:
        """Seconds until leases are to be looked at; none if only an order can change anything."""
        restless = self.main_slot.asked or any(map(is_exclusive, self.held()))
        return LOOK_AT_LEASES if restless else None

    def watch_leases(self) -> None:
        """The supervisor does this, too, but may be frozen while we are not."""
        for attempt in filter(is_exclusive, self.held()):
            left = self.board.lease_ends_at(attempt.place) - lease_clock()
            if left < last_moment(attempt.job):
                self.board.yield_lease(attempt.place)
                os._exit(1)
            if left < margin(attempt.job) and attempt.reason is None:
                self.stop(Stop(attempt.job.claim, Reason.LEASE, force=True))

    def held(self) -> list[Attempt]:
        """What we have to do; what was called back is no longer ours, though no slot has come to it yet."""
        return [attempt for attempt in list(self.attempts.values()) if not self.board.is_recalled(attempt.place)]

    def take(self, order: Run) -> None:
        for place, job in order.jobs:
            attempt = Attempt(job, place)
            self.attempts[job.claim] = attempt
            self.inbox.put(attempt)

    def stop(self, order: Stop) -> None:
        attempt = self.attempts.get(order.claim)
        if attempt is None:
            return  # it has just ended
        if not attempt.lost:
            attempt.reason = order.reason
        if order.force:
            for slot in self.slots:
                slot.interrupt(attempt)

    def leave(self) -> None:
        """Idle: end in order. At work: the supervisor is dead, and nobody wants the outcome; end at once."""
        if self.held():
            os._exit(1)
        for _ in self.slots:
            self.inbox.put(None)

    def work(self, attempt: Attempt, slot: Slot) -> None:
        with self.attendance:
            self.at_work += 1
        try:
            self.execute(attempt, slot)
        finally:
            self.tidy_up()

    def end_if_copy(self) -> None:
        """A handler that forks and returns twice: the copy must not go on with our jobs, pipes and connections."""
        if os.getpid() != self.pid:
            os._exit(0)

    def tidy_up(self) -> None:
        """When the last one leaves, what all of them started and forgot is killed; nobody begins meanwhile."""
        with self.attendance:
            self.board.count()
            self.at_work -= 1
            if self.at_work == 0:
                kill_own_children()
                self.restore_process()

    def restore_process(self) -> None:
        """What a handler changed of the process is not for the next one."""
        signal.setitimer(signal.ITIMER_REAL, 0)
        os.umask(self.umask)
        try:
            os.fchdir(self.folder)
        except OSError:  # it closed files that were not its own: another child goes on
            self.outbox.close()
            os._exit(1)

    def execute(self, attempt: Attempt, slot: Slot) -> None:
        claim = attempt.job.claim
        attempt.began = monotonic()
        if not self.board.begin(attempt.place):
            del self.attempts[claim]
            return
        lease_ends_at = partial(self.board.lease_ends_at, attempt.place)
        reporter = AttemptReporter(attempt, self.outbox.say, self.replies, lease_ends_at)
        files = partial(self.files, claim) if self.files else None
        context = Context(
            attempt.job, reporter, attempt, self.folders, self.worker_name, slot.on_task, files=files
        )  # fmt: skip
        connected = True

        def handle() -> Outcome | None:
            nonlocal connected
            try:
                return tracing.running(attempt.job, partial(run_attempt, attempt, context))
            finally:
                self.end_if_copy()
                connected = self.connections_made.any and clean_connections()

        try:
            outcome = slot.run(attempt, handle, partial(outcome_of_stop, attempt))
        except BaseException as error:  # an interruption that came between two lines of ours
            outcome = outcome_of_stop(attempt, error)
        attempt.ended = True
        self.board.end(attempt.place)
        del self.attempts[claim]
        self.outbox.say(Ended(claim, outcome, attempt.seconds))
        context.remove_scratch()
        if connected:
            close_old_connections()
