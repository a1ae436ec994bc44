"""A lock for each place of a board, between processes: the kernel releases those of a process that dies."""

import ctypes
import functools
from errno import EACCES, EAGAIN
from fcntl import F_SETLK, F_UNLCK, F_WRLCK
from os import SEEK_SET
from typing import Any


class Flock(ctypes.Structure):
    """As fcntl(2) has it on Linux."""

    _fields_ = (
        ("type", ctypes.c_short),
        ("whence", ctypes.c_short),
        ("start", ctypes.c_long),
        ("length", ctypes.c_long),
        ("pid", ctypes.c_int),
    )


# Python's own fcntl lets other threads run meanwhile. For a call of a microsecond that is dear: a child's outbox
# would wake up for each job and send its words one by one.
_fcntl = ctypes.PyDLL(None, use_errno=True).fcntl


def try_lock(file: int, place: int) -> bool:
    """False while another process holds it; within one process it excludes nobody."""
    if _fcntl(file, F_SETLK, _request(F_WRLCK, place)) == 0:
        return True
    if ctypes.get_errno() in (EAGAIN, EACCES):
        return False
    raise OSError(ctypes.get_errno(), "A place on the board cannot be locked")


def unlock(file: int, place: int) -> None:
    _fcntl(file, F_SETLK, _request(F_UNLCK, place))


@functools.cache
def _request(kind: int, place: int) -> Any:
    """Made once: F_SETLK only reads it."""
    return ctypes.byref(Flock(kind, SEEK_SET, place, 1))
