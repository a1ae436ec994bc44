"""Which process a worker is, and proof that one of this machine is dead.

A pid alone proves nothing: it is used again, and containers number their own. Boot id, pid namespace
and start time together name one process for good. Without /proc nothing is proven.
"""

import os
import socket
from dataclasses import dataclass
from pathlib import Path

PROC = Path("/proc")
DEAD_STATES = ("Z", "X", "x")  # a zombie runs no more; its parent just has not looked yet


@dataclass(frozen=True)
class ProcessIdentity:
    hostname: str
    pid: int
    boot_id: str = ""
    pid_namespace: int = 0
    start_ticks: int = 0

    @property
    def provable(self) -> bool:
        return bool(self.boot_id and self.pid_namespace and self.start_ticks)


def this_process() -> ProcessIdentity:
    pid = os.getpid()
    host = socket.gethostname()
    try:
        boot_id = (PROC / "sys/kernel/random/boot_id").read_text().strip()
        namespace = (PROC / "self/ns/pid").stat().st_ino
    except OSError:
        return ProcessIdentity(host, pid)
    _, ticks = read_stat(pid)
    return ProcessIdentity(host, pid, boot_id, namespace, ticks)


def read_stat(pid: int) -> tuple[str, int]:
    """The state letter and the start time of a process; ("", 0) if there is none."""
    try:
        fields = stat_fields(pid)
    except (FileNotFoundError, ProcessLookupError):
        return "", 0
    return fields[0], int(fields[19])


def stat_fields(pid: int) -> list[str]:
    """What the kernel says of a process: state, parent, group, session, …"""
    stat = (PROC / str(pid) / "stat").read_text()
    return stat.rpartition(")")[2].split()  # the name before it may hold spaces and brackets


def proven_dead(other: ProcessIdentity, here: ProcessIdentity) -> bool:
    """Whether `other` ran where we can look, and runs no more."""
    if not (other.provable and here.provable):
        return False
    if (other.boot_id, other.pid_namespace) != (here.boot_id, here.pid_namespace):
        return False
    try:
        state, ticks = read_stat(other.pid)
    except OSError:
        return False
    if not state:  # /proc shows nothing: gone, or hidden from us (hidepid)
        return not exists(other.pid)
    return state in DEAD_STATES or ticks != other.start_ticks


def exists(pid: int) -> bool:
    """Whether there is such a process, ours or not: signal 0 is never delivered."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True
