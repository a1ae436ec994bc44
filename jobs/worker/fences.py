"""A fence between processes: what we wrote into shared memory is seen by all of them, and what they wrote by us.

Processors put off writes behind reads. Who writes a word and then reads another's would have to wait each time; with
this only the one who seldom asks waits, and the kernel lets all others pass a barrier meanwhile. See membarrier(2).
"""

import ctypes
import platform
from time import sleep

SYSCALL = {"x86_64": 324, "aarch64": 283, "riscv64": 283}.get(platform.machine())
GLOBAL_EXPEDITED, REGISTER = 1 << 1, 1 << 2
LONG_AGO = 0.001  # seconds: where the kernel cannot be asked; no processor holds a write back a thousandth of that

_syscall = ctypes.CDLL(None, use_errno=True).syscall


def take_part() -> None:
    """Called once by each process that reads and writes without waiting."""
    _membarrier(REGISTER)


def fence() -> None:
    if not _membarrier(GLOBAL_EXPEDITED):
        sleep(LONG_AGO)


def _membarrier(command: int) -> bool:
    return SYSCALL is not None and _syscall(SYSCALL, command, 0, 0) == 0
