"""Real children of a nursery that the test's own process forked: they do what they are told, and nothing else."""

import threading
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any

from jobs.handlers.base import ClaimedJob
from jobs.worker.child_handle import Assignment, ChildHandle
from jobs.worker.leases import lease_clock
from jobs.worker.messages import Word
from jobs.worker.nursery import ChildMain, Exit, Nursery
from tests.concurrency.threads import wait_until
from tests.handlers.reporter import a_claimed_job


def obey(connection: Connection, board: int, slots: int) -> None:
    """Call what comes through the pipe, a function and its arguments, and say what it returned."""
    while True:
        try:
            order = connection.recv()
        except EOFError:
            return
        if type(order) is tuple:  # and no order of a supervisor
            connection.send(order[0](*order[1:]))


class Household:
    def __init__(self, main: ChildMain = obey) -> None:
        self.nursery = Nursery(main)
        self.exit_codes: dict[int, int] = {}
        self.gone = threading.Event()
        self.words: list[Word] = []
        self.children: list[ChildHandle] = []
        self.nursery.watch(self.on_exit, self.gone.set)

    def on_exit(self, exited: Exit) -> None:
        self.exit_codes[exited.pid] = exited.code
        for child in self.children:
            if child.pid == exited.pid:
                child.exit_code = exited.code

    def child(self, slots: int = 1, *, isolated: bool = False) -> ChildHandle:
        child = ChildHandle(self.nursery, slots, isolated=isolated, on_words=self.on_words, on_hung_up=on_hung_up)
        self.children.append(child)
        return child

    def on_words(self, child: ChildHandle, words: list[Word]) -> None:
        self.words += words

    def assignment(self, child: ChildHandle | None = None, **options: Any) -> Assignment:
        """A job given to a child; the options are the job's. It begins when the test marks it on the board."""
        job = a_claimed_job(**options)
        return give(child or self.child(), job)

    def end(self) -> None:
        self.nursery.close()
        for child in self.children:
            child.close()


def on_hung_up(child: ChildHandle) -> None:
    child.hung_up = True


def give(child: ChildHandle, job: ClaimedJob) -> Assignment:
    child.give([job], [lease_clock() + job.lease.total_seconds()])
    return child.assignments[job.claim]


def tell(child: ChildHandle, function: Callable[..., object], *arguments: object) -> None:
    """Have the child call a function; what it returns is nobody's business."""
    child.send((function, *arguments))  # type: ignore[arg-type]  # an order of the tests' own


def wait_until_gone(child: ChildHandle) -> None:
    wait_until(lambda: child.is_gone)
