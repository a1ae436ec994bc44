"""Programs that handlers started and left behind."""

import os
from contextlib import suppress

from jobs.worker.proc import children_of, kill


def kill_own_children() -> None:
    """Asked when no attempt runs in this process: whatever child it has then belongs to one that ended."""
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return  # none at all: the usual case, told by one call
    for pid in children_of(os.getpid()):
        kill(pid)
        with suppress(ChildProcessError):
            os.waitpid(pid, os.WNOHANG)  # one that hangs in the kernel is not waited for; the next look takes it
