"""Processes as the machine shows them: whose children they are, and how they are killed."""

import logging
import os
import signal
from collections.abc import Iterator
from contextlib import suppress

from jobs.logs import Event
from jobs.process_identity import PROC, stat_fields

logger = logging.getLogger("jobs.worker")
_not_ours: set[int] = set()


def kill_session(session: int) -> None:
    for pid, _, its_session in processes():
        if its_session == session and pid != session:
            kill(pid)


def kill(pid: int) -> bool:
    """False where it is another user's, as what `sudo` started: nobody but root may end that, and we say so once."""
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass  # it has just ended
    except PermissionError:
        if pid not in _not_ours:
            _not_ours.add(pid)
            logger.warning(Event("a handler left a process of another user behind, and it lives on", pid=pid))
        return False
    return True


def children_of(parent: int) -> list[int]:
    return [pid for pid, its_parent, _ in processes() if its_parent == parent]


def processes() -> Iterator[tuple[int, int, int]]:
    """Pid, parent and session of each process that can be seen."""
    for entry in PROC.iterdir() if PROC.is_dir() else ():
        if entry.name.isdecimal():
            with suppress(OSError, ValueError, IndexError):
                _, parent, _, session, *_ = stat_fields(int(entry.name))
                yield int(entry.name), int(parent), int(session)
