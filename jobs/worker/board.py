"""The board: memory that a child shares with the supervisor. The child marks on it how far each of its jobs is, the
supervisor how long their leases last.

It can be read when the child is dead: what it was running then is known exactly, with no message to be lost.
"""

import mmap
import os
from time import monotonic

PLACES = 1024
SIZE = 2 * PLACES * 8
YIELDED = float("-inf")


class Board:
    def __init__(self, fd: int) -> None:
        self._memory = mmap.mmap(fd, SIZE)
        whole = memoryview(self._memory).cast("d")
        self._marks, self._leases = whole[:PLACES], whole[PLACES:]

    @staticmethod
    def new_memory() -> int:
        """A file descriptor for the board of one child."""
        fd = os.memfd_create("jobyard-board")
        os.ftruncate(fd, SIZE)
        return fd

    # The supervisor writes

    def clear(self, place: int) -> None:
        self._marks[place] = 0.0

    def set_lease(self, place: int, ends_at: float) -> None:
        self._leases[place] = ends_at

    # The child writes

    def begin(self, place: int) -> None:
        self._marks[place] = monotonic()

    def end(self, place: int) -> None:
        self._marks[place] = -monotonic()

    def yield_lease(self, place: int) -> None:
        """It stops because its lease could not be renewed: nobody but us can write this."""
        self._marks[place] = YIELDED

    # Both read

    def lease_ends_at(self, place: int) -> float:
        """As far as is known here: the supervisor, the queue or this very process may have been away."""
        return self._leases[place]

    def began_at(self, place: int) -> float | None:
        """On the clock that all processes of the machine share; None if it has not begun, or has ended."""
        mark = self._marks[place]
        return mark if mark > 0 else None

    def ended_at(self, place: int) -> float | None:
        mark = self._marks[place]
        return -mark if YIELDED < mark < 0 else None

    def has_yielded(self, place: int) -> bool:
        return self._marks[place] == YIELDED

    def close(self) -> None:
        self._marks.release()
        self._leases.release()
        self._memory.close()
