"""The board: memory that a child shares with the supervisor. The child marks on it how far each of its jobs is, the
supervisor how long their leases last, and which jobs are called back.

It can be read when the child is dead: what it was running then is known exactly, with no message to be lost.

Whether a job begins or is called back is settled without a lock: a child begins thousands a second, and few come back.
Each writes its own word first and then looks at the other's: the child marks the job as begun and looks whether it was
asked for, the supervisor asks, lets a fence pass, and looks whether it has begun. So at least one of them sees the
other. A child that does waits for the supervisor's decision.
"""

import mmap
import os
from collections.abc import Collection
from time import monotonic, sleep

from jobs.worker.fences import fence, take_part

PLACES = 2048
SIZE = (3 * PLACES + 1) * 8
WAITS = 0.0
YIELDED, NOTICED = float("-inf"), float("inf")  # the latter: that it was called back
KEPT, ASKED, TAKEN = 0.0, 1.0, 2.0


class Board:
    def __init__(self, fd: int) -> None:
        take_part()
        self._memory = mmap.mmap(fd, SIZE)
        whole = memoryview(self._memory).cast("d")
        self._marks, self._leases = whole[:PLACES], whole[PLACES : 2 * PLACES]
        self._recalls, self._through = whole[2 * PLACES : 3 * PLACES], whole[3 * PLACES :]

    @staticmethod
    def new_memory() -> int:
        """A file descriptor for the board of one child."""
        fd = os.memfd_create("jobyard-board")
        os.ftruncate(fd, SIZE)
        return fd

    # The supervisor writes

    def clear(self, place: int) -> None:
        self._marks[place], self._recalls[place] = WAITS, KEPT

    def set_lease(self, place: int, ends_at: float) -> None:
        self._leases[place] = ends_at

    def recall(self, places: Collection[int]) -> set[int]:
        """Take back the jobs that have not begun; returns their places. Never waits for the child."""
        asked = [place for place in places if self._marks[place] == WAITS and self._recalls[place] == KEPT]
        for place in asked:
            self._recalls[place] = ASKED
        fence()
        taken = {place for place in asked if self._marks[place] == WAITS}
        for place in asked:
            self._recalls[place] = TAKEN if place in taken else KEPT
        return taken

    # The child writes

    def begin(self, place: int) -> bool:
        """False if it was called back: then the place is free again."""
        self._marks[place] = monotonic()
        if self._recalls[place] == KEPT:
            return True
        while self._recalls[place] == ASKED:
            sleep(0.0001)  # until the supervisor has looked at our mark
        if self._recalls[place] == KEPT:
            return True
        self._marks[place] = NOTICED
        return False

    def end(self, place: int) -> None:
        self._marks[place] = -monotonic()

    def yield_lease(self, place: int) -> None:
        """It stops because its lease could not be renewed: nobody but us can write this."""
        self._marks[place] = YIELDED

    def count(self) -> None:
        """One more job has ended, or was found called back. Not for two threads at the same time."""
        self._through[0] += 1

    # Both read

    @property
    def through(self) -> int:
        """How many jobs the child is through with, since it began: known here before it says how they ended."""
        return int(self._through[0])

    def lease_ends_at(self, place: int) -> float:
        """As far as is known here: the supervisor, the queue or this very process may have been away."""
        return self._leases[place]

    def began_at(self, place: int) -> float | None:
        """On the clock that all processes of the machine share; None if it has not begun, or has ended."""
        mark = self._marks[place]
        return mark if 0 < mark < NOTICED else None

    def ended_at(self, place: int) -> float | None:
        mark = self._marks[place]
        return -mark if YIELDED < mark < 0 else None

    def has_yielded(self, place: int) -> bool:
        return self._marks[place] == YIELDED

    def is_recalled(self, place: int) -> bool:
        """Called back, and its child has not come to it yet."""
        return self._recalls[place] == TAKEN and self._marks[place] != NOTICED

    def close(self) -> None:
        self._marks.release()
        self._leases.release()
        self._recalls.release()
        self._through.release()
        self._memory.close()
