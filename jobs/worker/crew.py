"""The crew: the children of a worker, those that are missing and when they are replaced."""

from collections import deque
from contextlib import suppress
from dataclasses import dataclass, field
from time import monotonic

from jobs.worker.child_handle import Assignment, ChildHandle, OnEnd, OnWords
from jobs.worker.forking import NO_THREADS, Forking
from jobs.worker.nursery import CannotFork, Nursery

CRASHES_TO_GIVE_UP, CRASH_WINDOW = 5, 300.0
HOPELESS = f"{CRASHES_TO_GIVE_UP} times in {CRASH_WINDOW / 60:g} minutes"
RESTART_AFTER = (1.0, 4.0, 16.0, 60.0)  # seconds, by the number of crashes


@dataclass
class Berth:
    """A place in the pool: its child, and how often that crashed."""

    child: ChildHandle | None = None
    restart_at: float = 0.0
    crashes: deque[float] = field(default_factory=deque)

    def crashed(self) -> None:
        now = monotonic()
        self.child = None
        self.crashes.append(now)
        while self.crashes and self.crashes[0] < now - CRASH_WINDOW:
            self.crashes.popleft()
        self.restart_at = now + RESTART_AFTER[min(len(self.crashes), len(RESTART_AFTER)) - 1]

    @property
    def hopeless(self) -> bool:
        return len(self.crashes) >= CRASHES_TO_GIVE_UP


class Crew:
    """The pool of children for short jobs, and one child each for jobs that must run alone."""

    def __init__(self, nursery: Nursery, processes: int, concurrency: int, on_words: OnWords, on_end: OnEnd) -> None:
        self.nursery, self.concurrency = nursery, concurrency
        self.on_words, self.on_end = on_words, on_end
        self.berths = [Berth() for _ in range(processes)]
        self.isolated: list[ChildHandle] = []
        self.forking = Forking()

    @property
    def pool(self) -> list[ChildHandle]:
        return [berth.child for berth in self.berths if berth.child]

    @property
    def children(self) -> list[ChildHandle]:
        return self.pool + self.isolated

    @property
    def occupied_slots(self) -> int:
        return self.isolated_slots + sum(min(child.slots, len(child.assignments)) for child in self.pool)

    @property
    def isolated_slots(self) -> int:
        return sum(child.weight for child in self.isolated)

    def assignments(self) -> list[Assignment]:
        return [assignment for child in self.children for assignment in child.assignments.values()]

    def find(self, pid: int) -> ChildHandle | None:
        return next((child for child in self.children if child.pid == pid), None)

    def man(self) -> None:
        """Start the children that are missing, and whose time has come."""
        for berth in self.berths:
            if berth.child is None and monotonic() >= berth.restart_at:
                with suppress(CannotFork):  # which is no crash: it is tried again after a while
                    berth.child = self.new_child(self.concurrency, isolated=False)

    def new_isolated_child(self, weight: int = 1) -> ChildHandle:
        child = self.new_child(1, isolated=True)
        child.weight = weight
        self.isolated.append(child)
        return child

    def new_child(self, slots: int, *, isolated: bool) -> ChildHandle:
        with self.forking.tried():
            return ChildHandle(self.nursery, slots, isolated=isolated, on_words=self.on_words, on_hung_up=self.on_end)

    def remove(self, child: ChildHandle) -> None:
        """A child is gone. Of the pool's, one that ended by itself counts as crashed."""
        if child.had_no_room:
            self.forking.failed(NO_THREADS)
        if child in self.isolated:
            self.isolated.remove(child)
        for berth in self.berths:
            if berth.child is child:
                if child.killed or child.had_no_room:
                    berth.child = None
                else:
                    berth.crashed()
        child.close()

    @property
    def hopeless(self) -> bool:
        return any(berth.hopeless for berth in self.berths)
