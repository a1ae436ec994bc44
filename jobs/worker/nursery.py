"""The nursery: a process with one thread that has all handlers imported, and forks the children that run them.

A fork takes milliseconds where a new interpreter takes a second, but is only safe in a process with one thread: the
supervisor has several. The nursery also sees to it that nothing survives: when a child ends, whatever it left behind
is killed; when the supervisor is gone, so are all.
"""

import json
import logging
import os
import select
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection
from queue import Empty, SimpleQueue
from time import monotonic, sleep
from typing import Any, NoReturn

from jobs.handlers.confinement import PR_SET_PDEATHSIG, prctl
from jobs.stop_signals import STOP_SIGNALS
from jobs.worker.proc import children_of, kill, kill_session

logger = logging.getLogger("jobs.worker")
PR_SET_CHILD_SUBREAPER = 36
PACKET = 4096
ROUNDS_TO_KILL = 1000
NO_CHILD = -1
NO_ROOM = os.EX_OSERR  # the exit code of a child that cannot start its threads
PATIENCE = 10.0  # seconds

ChildMain = Callable[[Connection, int, int], None]  # its end of the pipe, the board's file, how many slots
_left_open: list[object] = []


class CannotFork(Exception):
    """The machine has no room for another process now."""


class NurseryGone(Exception):
    """The process that holds the children is gone, and they with it."""


@dataclass(frozen=True)
class Exit:
    """A child's end: negative codes are signals, as subprocess has them."""

    pid: int
    code: int


class Nursery:
    """The supervisor's side."""

    def __init__(self, child_main: ChildMain) -> None:
        """Forks: must be called before this process has a second thread."""
        self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        blocked = signal.pthread_sigmask(signal.SIG_BLOCK, STOP_SIGNALS)  # until the nursery has settled to ignore them
        self.pid = os.fork()
        if self.pid == 0:
            self._socket.close()
            NurseryProcess(theirs, child_main, blocked).run_and_exit()
        signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
        theirs.close()
        self._spawned: SimpleQueue[dict[str, Any] | None] = SimpleQueue()
        self._reader: threading.Thread | None = None

    def watch(self, on_exit: Callable[[Exit], None], on_gone: Callable[[], None]) -> None:
        """Tell of children that end, from a thread; it must run before the first child is wanted."""
        self._reader = threading.Thread(target=self._read, args=(on_exit, on_gone), name="nursery", daemon=True)
        self._reader.start()

    def spawn(self, slots: int, board: int) -> tuple[int, Connection]:
        """A new child: its pid, and our end of the pipe to it."""
        ours, theirs = socket.socketpair()
        with ours, theirs:
            self._send({"spawn": slots}, [theirs.fileno(), board])
            answer = self._answer()
            if answer is None:
                raise NurseryGone
            if answer["spawned"] == NO_CHILD:
                raise CannotFork(answer["why"])
            return answer["spawned"], Connection(ours.detach())

    def kill(self, pid: int) -> None:
        with suppress(NurseryGone):  # then it is dead already
            self._send({"kill": pid})

    def close(self, patience: float = PATIENCE) -> None:
        """Whatever still lives in it is killed."""
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_WR)
        self._wait(patience)
        if self._reader:
            self._reader.join()
        self._socket.close()

    def _answer(self) -> dict[str, Any] | None:
        try:
            return self._spawned.get(timeout=PATIENCE)
        except Empty:  # it is stopped, and would keep us waiting for ever
            os.kill(self.pid, signal.SIGKILL)
            return None

    def _wait(self, patience: float) -> None:
        """Until it has ended; if it does not, it is killed."""
        deadline = monotonic() + patience
        with suppress(ChildProcessError):
            while os.waitpid(self.pid, os.WNOHANG) == (0, 0):
                if monotonic() > deadline:
                    os.kill(self.pid, signal.SIGKILL)
                sleep(0.005)

    def _read(self, on_exit: Callable[[Exit], None], on_gone: Callable[[], None]) -> None:
        with suppress(OSError):
            while packet := self._socket.recv(PACKET):
                message: dict[str, Any] = json.loads(packet)
                if "spawned" in message:
                    self._spawned.put(message)
                else:
                    on_exit(Exit(**message))
        self._spawned.put(None)
        on_gone()

    def _send(self, message: dict[str, Any], fds: list[int] | None = None) -> None:
        try:
            socket.send_fds(self._socket, [json.dumps(message).encode()], fds or [])
        except OSError as error:
            raise NurseryGone from error


class NurseryProcess:
    """The nursery's own side. It runs no handler, so nothing holds it up."""

    def __init__(self, control: socket.socket, child_main: ChildMain, signal_mask: set[int]) -> None:
        self.control, self.child_main, self.signal_mask = control, child_main, signal_mask
        self.children: set[int] = set()
        self.wake_reader, self.wake_writer = os.pipe()

    def run_and_exit(self) -> NoReturn:
        code = 1
        try:
            self.settle()
            while self.serve_once():
                pass
            code = 0
        except BaseException:
            logger.exception("the nursery failed")
        finally:
            try:
                self.kill_all()
            finally:
                os._exit(code)

    def settle(self) -> None:
        for number in STOP_SIGNALS:
            signal.signal(number, signal.SIG_IGN)  # the supervisor alone decides when to stop
        signal.pthread_sigmask(signal.SIG_SETMASK, self.signal_mask)
        os.set_blocking(self.wake_writer, False)
        signal.set_wakeup_fd(self.wake_writer, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda number, frame: None)
        prctl(PR_SET_CHILD_SUBREAPER, 1)
        forget_connections()

    def serve_once(self) -> bool:
        readable, _, _ = select.select([self.control.fileno(), self.wake_reader], [], [])
        if self.wake_reader in readable:
            os.read(self.wake_reader, PACKET)
            self.bury_the_dead()
        if self.control.fileno() not in readable:
            return True
        try:
            packet, fds, _, _ = socket.recv_fds(self.control, PACKET, 2)
        except ConnectionResetError:  # the supervisor is gone, and has not read all that we said
            return False
        if not packet:
            return False  # it is gone
        message = json.loads(packet)
        if "spawn" in message:
            self.spawn(message["spawn"], *fds)
        elif message["kill"] in self.children:
            os.kill(message["kill"], signal.SIGKILL)
        return True

    def spawn(self, slots: int, pipe: int, board: int) -> None:
        nursery, why = os.getpid(), ""
        try:
            pid = os.fork()
        except OSError as error:  # too many processes, too little memory: no reason to end the children there are
            pid, why = NO_CHILD, str(error)
        else:
            if pid == 0:
                self.become_child(nursery, slots, pipe, board)
            self.children.add(pid)
        os.close(pipe)
        os.close(board)
        self.tell({"spawned": pid, "why": why})

    def become_child(self, nursery: int, slots: int, pipe: int, board: int) -> NoReturn:
        code = 1
        try:
            os.setsid()  # what it starts can be told by the session, and a terminal's Ctrl-C does not reach it
            prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
            prctl(PR_SET_CHILD_SUBREAPER, 1)  # daemons that a handler starts become its children, and end with it
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            self.control.close()
            if os.getppid() == nursery:
                self.child_main(Connection(pipe), board, slots)
                code = 0
        except BaseException:
            logger.exception("a child process failed")
        finally:
            os._exit(code)

    def bury_the_dead(self) -> None:
        for pid, status in dead_children():
            if pid in self.children:
                self.children.discard(pid)
                kill_session(pid)
                self.tell({"pid": pid, "code": os.waitstatus_to_exitcode(status)})
        self.kill_orphans()

    def kill_orphans(self) -> None:
        """What a handler left behind comes here when its parent ends: nothing of it may live on."""
        for pid in children_of(os.getpid()):
            if pid not in self.children:
                kill(pid)

    def kill_all(self) -> None:
        """Killing a child hands its own children over to us: repeat until there are none that we may kill."""
        for _ in range(ROUNDS_TO_KILL):
            killed = [pid for pid in children_of(os.getpid()) if kill(pid)]
            for pid in killed:
                kill_session(pid)
            if not killed:
                return
            with suppress(ChildProcessError):
                os.wait()

    def tell(self, message: dict[str, int | str]) -> None:
        with suppress(OSError):  # the supervisor is gone: the next look at the socket says so
            self.control.send(json.dumps(message).encode())


def dead_children() -> Iterator[tuple[int, int]]:
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if pid == 0:
            return
        yield pid, status


def forget_connections() -> None:
    """Database connections that were open at the fork belong to the supervisor: never use them, never close them."""
    from django.db import connections

    for alias in list(connections):
        wrapper = getattr(connections._connections, alias, None)  # type: ignore[attr-defined]  # no public way
        if wrapper is not None:
            _left_open.append(wrapper)
            delattr(connections._connections, alias)  # type: ignore[attr-defined]
