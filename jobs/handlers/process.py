"""A subprocess with a process group of its own, which ends with it, and which dies with us."""

import logging
import os
import select
import signal
import subprocess
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from io import FileIO
from time import monotonic
from typing import Any

from jobs.handlers.confinement import PR_SET_PDEATHSIG, Confinement, prctl
from jobs.stop_signals import STOP_SIGNALS

logger = logging.getLogger("jobs.handlers")

PATIENCE = 2.0  # seconds between SIGTERM and SIGKILL
REAP_WITHIN = 5.0  # a process that SIGKILL does not end hangs in the kernel: we do not hang with it
LOOK_EVERY = 0.02  # where the system cannot tell us of an exit


def die_with(parent: int, nice: int = 0, confinement: Confinement | None = None) -> Callable[[], None]:
    """What the child does before it becomes the program: it asks to be killed when the thread that made it ends."""

    def prepare() -> None:
        for number in STOP_SIGNALS:  # a worker may ignore what must end its programs
            signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
        if nice:
            os.nice(nice)
        if confinement:
            confinement.enter()  # first: in a namespace of its own it would forget whom it dies with
        if prctl(PR_SET_PDEATHSIG, signal.SIGKILL) and os.getppid() != parent:  # it ended before we asked
            os._exit(1)

    return prepare


class Process(subprocess.Popen[bytes]):
    """It exists before it starts, so that whatever interrupts the start finds something to end."""

    def __init__(self) -> None:
        self.pid = 0
        self.returncode = None
        self.exit_watch: FileIO | None = None  # readable when it has exited; None where there is no such thing
        self._signalling = threading.Lock()

    def start(self, argv: Sequence[Any], nice: int = 0, confinement: Confinement | None = None, **options: Any) -> None:
        prepare = die_with(os.getpid(), nice, confinement)
        super().__init__(argv, bufsize=0, start_new_session=True, preexec_fn=prepare, **options)
        self.exit_watch = exit_watch(self.pid)

    def has_exited(self) -> bool:
        """Asked without reaping: until then its number, which is its group's, is given to nobody else."""
        if not self.pid or self.returncode is not None:
            return True
        try:
            return os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
        except ChildProcessError:
            return True

    def wait_for_exit(self, seconds: float) -> bool:
        deadline = monotonic() + seconds
        poll, longest = select.poll(), LOOK_EVERY
        with suppress(ValueError):  # closed meanwhile: the thread that reads from it saw the exit
            if self.exit_watch:
                poll.register(self.exit_watch, select.POLLIN)
                longest = seconds
        while not self.has_exited() and (left := deadline - monotonic()) > 0:
            poll.poll(1000 * min(left, longest))
        return self.has_exited()

    def signal_group(self, number: signal.Signals) -> None:
        with self._signalling:
            if self.pid and self.returncode is None:
                with suppress(ProcessLookupError, PermissionError):  # macOS says the latter of a group of zombies
                    os.killpg(self.pid, number)

    def end(self, patience: float = PATIENCE) -> None:
        """Ask it to end, then kill what is left of its group, and reap it. Any thread may call it, and again."""
        try:
            self.signal_group(signal.SIGTERM)
            self.wait_for_exit(patience)
        finally:  # also when an interruption comes while we are patient
            self.signal_group(signal.SIGKILL)
            self._reap()

    def release(self) -> None:
        """Close what we hold of it; for the thread that reads from it alone."""
        for file in (self.stdin, self.stdout, self.stderr, self.exit_watch) if self.pid else ():
            if file is not None:
                file.close()

    def _reap(self) -> None:
        if not self.wait_for_exit(REAP_WITHIN):
            logger.error("process %s does not end although it was killed", self.pid)
            return
        with self._signalling:
            if self.pid and self.returncode is None:
                self.wait()


def exit_watch(pid: int) -> FileIO | None:
    if not hasattr(os, "pidfd_open"):
        return None
    try:
        return FileIO(os.pidfd_open(pid))
    except OSError:  # an old kernel, or a sandbox that forbids it
        return None


def signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
