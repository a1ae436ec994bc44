"""What a program may take and do at most. The kernel keeps it to that, also when nobody is there to look."""

import ctypes
import os
import resource
import sys
from collections.abc import Callable
from dataclasses import dataclass

PR_SET_PDEATHSIG, PR_SET_NO_NEW_PRIVS = 1, 38
CLONE_NEWUSER, CLONE_NEWNET = 0x10000000, 0x40000000


def of_linux(name: str) -> Callable[..., int] | None:
    return getattr(ctypes.CDLL(None), name, None) if sys.platform == "linux" else None


# Resolved here: between fork and exec, while other threads may hold any lock, nothing may be looked up.
PRCTL, UNSHARE = of_linux("prctl"), of_linux("unshare")


def prctl(option: int, value: int) -> bool:
    """Ask something of the kernel for this process; False where it is not Linux's."""
    return PRCTL is not None and PRCTL(option, value, 0, 0, 0) == 0


@dataclass(frozen=True)
class Confinement:
    """Without rights that it does not have yet, and without a network where the machine lets us take it away."""

    memory: int = 0  # bytes that it may write to; 0 = no limit, as below
    cpu_seconds: int = 0  # of all its threads together
    file_size: int = 0  # bytes of the largest file
    network: bool = False

    def enter(self) -> None:
        """Between fork and exec, or in a process that confines itself. There is no way back."""
        lower(resource.RLIMIT_CORE, 0)
        if self.memory:  # not the address space: drivers of graphics cards reserve much of it
            lower(resource.RLIMIT_DATA, self.memory)
        if self.cpu_seconds:
            lower(resource.RLIMIT_CPU, self.cpu_seconds, then_killed=1)
        if self.file_size:
            lower(resource.RLIMIT_FSIZE, self.file_size)
        if not self.network:
            leave_the_network()
        prctl(PR_SET_NO_NEW_PRIVS, 1)


def lower(what: int, amount: int, then_killed: int = 0) -> None:
    """Never to be raised again. Of processing time the first limit sends a signal that says so, the second kills."""
    _, most = resource.getrlimit(what)
    hard = amount + then_killed if most == resource.RLIM_INFINITY else min(amount + then_killed, most)
    resource.setrlimit(what, (min(amount, hard), hard))


def leave_the_network() -> bool:
    """Into a network of its own that has nothing in it; False where this machine does not let us.

    Whoever is not root needs a namespace of users for that. It is worth having by itself: from inside of it the memory
    and the environment of other processes cannot be read, our own among them.
    """
    spaces = CLONE_NEWNET if os.geteuid() == 0 else CLONE_NEWUSER | CLONE_NEWNET
    return UNSHARE is not None and UNSHARE(spaces) == 0
