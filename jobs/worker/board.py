"""The board: memory that a child shares with the supervisor. The child marks on it how far each of its jobs is, the
supervisor how long their leases last, and which jobs are called back.

It can be read when the child is dead: what it was running then is known exactly, with no message to be lost. Whether a
job begins or is called back is decided under a lock of its place, which the kernel releases when its holder dies.
"""

import mmap
import os
from time import monotonic, sleep

from jobs.worker.place_locks import try_lock, unlock

PLACES = 2048
SIZE = 2 * PLACES * 8
WAITS = 0.0
YIELDED, RECALLED = float("-inf"), float("inf")


class Board:
    def __init__(self, fd: int) -> None:
        self._memory, self._file = mmap.mmap(fd, SIZE), os.dup(fd)
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
        self._marks[place] = WAITS

    def set_lease(self, place: int, ends_at: float) -> None:
        self._leases[place] = ends_at

    def recall(self, place: int) -> bool:
        """Take a job back that has not begun; False if it has, or is just about to. Never waits for the child."""
        if not try_lock(self._file, place):
            return False  # the child holds it, and may have been stopped there
        try:
            waits = self._marks[place] == WAITS
            if waits:
                self._marks[place] = RECALLED
        finally:
            unlock(self._file, place)
        return waits

    # The child writes

    def begin(self, place: int) -> bool:
        """False if it was called back: then the place is free again."""
        while not try_lock(self._file, place):
            sleep(0.0001)  # the supervisor is about to call it back
        try:
            recalled = self._marks[place] == RECALLED
            self._marks[place] = WAITS if recalled else monotonic()
        finally:
            unlock(self._file, place)
        return not recalled

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
        return mark if 0 < mark < RECALLED else None

    def ended_at(self, place: int) -> float | None:
        mark = self._marks[place]
        return -mark if YIELDED < mark < 0 else None

    def has_yielded(self, place: int) -> bool:
        return self._marks[place] == YIELDED

    def is_recalled(self, place: int) -> bool:
        """Called back, and its child has not come to it yet."""
        return self._marks[place] == RECALLED

    def close(self) -> None:
        self._marks.release()
        self._leases.release()
        self._memory.close()
        os.close(self._file)
