"""Real processes for what is proven about them: one that lives, and one that is dead for certain."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from jobs.process_identity import ProcessIdentity, read_stat, this_process


@contextmanager
def running_process() -> Iterator[tuple[subprocess.Popen[bytes], ProcessIdentity]]:
    """A process that waits for its input to end, and its identity."""
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE, stderr=subprocess.DEVNULL)
    try:
        yield child, replace(this_process(), pid=child.pid, start_ticks=read_stat(child.pid)[1])
    finally:
        assert child.stdin
        child.stdin.close()
        child.wait(timeout=20)


def dead_process() -> ProcessIdentity:
    """The identity of a process that ran here and has exited."""
    with running_process() as (_, identity):
        return identity
