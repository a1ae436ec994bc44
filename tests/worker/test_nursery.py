"""The nursery: children are forked, and told of when they end; nothing of them, or of itself, is left behind."""

import os
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import pytest
from django.conf import settings

from jobs.worker import nursery, proc
from jobs.worker.board import Board
from jobs.worker.nursery import NurseryGone, NurseryProcess
from jobs.worker.proc import children_of
from tests.concurrency.threads import scalar, wait_until
from tests.processes import running_process
from tests.worker.household import Household
from tests.worker.stage import is_alive

WAIT = 20.0  # far longer than anything here takes


class Child:
    """A child without a handle: its number, and our end of its pipe."""

    def __init__(self, household: Household) -> None:
        memory = Board.new_memory()
        self.household = household
        self.pid, self.pipe = household.nursery.spawn(1, memory)
        os.close(memory)

    def send(self, function: Callable[..., object], *arguments: object) -> None:
        self.pipe.send((function, *arguments))

    def call(self, function: Callable[..., object], *arguments: object) -> Any:
        """Have it call a function, and wait for what that returns."""
        self.send(function, *arguments)
        assert self.pipe.poll(WAIT), "it does not answer"
        return self.pipe.recv()

    def exit_code(self) -> int:
        wait_until(lambda: self.pid in self.household.exit_codes)
        return self.household.exit_codes[self.pid]


@pytest.fixture
def spawn(household: Household) -> Iterator[Callable[[], Child]]:
    children: list[Child] = []

    def spawn() -> Child:
        children.append(Child(household))
        return children[-1]

    yield spawn
    for child in children:
        child.pipe.close()


@contextmanager
def watched(*pids: int) -> Iterator[None]:
    """These live; after the block they must be gone, or the test fails, and then they are."""
    watches = {os.pidfd_open(pid): pid for pid in pids}
    try:
        yield
        for watch, pid in watches.items():
            gone, _, _ = select.select([watch], [], [], WAIT)
            assert gone, f"process {pid} lives on"
    finally:
        for watch in watches:
            with suppress(ProcessLookupError):
                signal.pidfd_send_signal(watch, signal.SIGKILL)
            os.close(watch)


# What a handler may start. Each returns the numbers of all processes it started; they ignore polite requests to end.


def sleeper() -> int:
    pid = os.fork()
    if pid == 0:
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
            signal.signal(number, signal.SIG_IGN)
        while True:
            signal.pause()
    return pid


def a_program() -> list[int]:
    return [sleeper()]


def a_program_in_a_session_of_its_own() -> list[int]:
    return told_by_a_fork(lambda: [os.getpid(), sleeper()], ends=False)


def a_daemon() -> list[int]:
    """Forked twice: its parent is gone before its handler is."""
    return told_by_a_fork(lambda: [sleeper()], ends=True, setsid=False)


def a_daemon_in_a_session_of_its_own() -> list[int]:
    return told_by_a_fork(lambda: [sleeper()], ends=True)


def a_family() -> list[int]:
    """A parent, its child and its grandchild, all of them in sessions of their own."""
    return told_by_a_fork(lambda: [os.getpid(), *told_by_a_fork(lambda: [os.getpid(), sleeper()], ends=False)], False)


def told_by_a_fork(numbers: Callable[[], list[int]], ends: bool, setsid: bool = True) -> list[int]:
    """Fork; what the fork says is returned, and it ends or stays."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.close(reader)
            if setsid:
                os.setsid()
            os.write(writer, f"{numbers()}\n".encode())
            os.close(writer)
            while not ends:
                signal.pause()
        finally:
            os._exit(0)
    os.close(writer)
    with open(reader) as told:
        line = told.readline()
    if ends:
        os.waitpid(pid, 0)
    return [int(number) for number in line.strip("[]\n").split(",")]


STARTED = [a_program, a_program_in_a_session_of_its_own, a_daemon, a_daemon_in_a_session_of_its_own, a_family]
whatever_it_started = pytest.mark.parametrize("start", STARTED, ids=lambda start: start.__name__)


# Coming and going


def test_a_child_is_a_process_of_the_nurserys_that_can_be_talked_to(spawn, household: Household):
    child = spawn()
    assert child.call(os.getpid) == child.pid
    assert child.call(os.getppid) == household.nursery.pid
    assert child.call(os.getsid, 0) == child.pid


@pytest.mark.parametrize(
    ("order", "code"),
    [
        ((os._exit, 3), 3),
        ((signal.raise_signal, signal.SIGKILL), -signal.SIGKILL),
        ((signal.raise_signal, signal.SIGUSR2), -signal.SIGUSR2),
        ((int, "no number"), 1),
    ],
    ids=["exit", "killed", "crashed", "raised"],
)
def test_a_child_that_ends_is_told_of_with_its_exit_code(spawn, order, code):
    child, other = spawn(), spawn()
    child.send(*order)
    assert child.exit_code() == code
    assert other.call(os.getpid) == other.pid


def test_a_child_whose_pipe_is_closed_ends_though_others_were_forked_after_it(spawn):
    child, _ = spawn(), spawn()
    child.pipe.close()
    assert child.exit_code() == 0


def test_a_dead_child_leaves_no_zombie(spawn, household: Household):
    child = spawn()
    child.send(os._exit, 0)
    child.exit_code()
    assert children_of(household.nursery.pid) == []


def test_a_child_that_does_not_listen_can_be_killed(spawn, household: Household):
    child = spawn()
    child.send(signal.pause)
    household.nursery.kill(child.pid)
    assert child.exit_code() == -signal.SIGKILL


def test_a_number_that_is_no_childs_is_not_killed(spawn, household: Household):
    ended, living = spawn(), spawn()
    ended.send(os._exit, 0)
    ended.exit_code()
    with running_process() as (stranger, _):
        for pid in (stranger.pid, ended.pid, household.nursery.pid):
            household.nursery.kill(pid)
        assert living.call(os.getpid) == living.pid
        assert Child(household).call(os.getpid)  # the nursery has read all that was asked before
        assert stranger.poll() is None


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT])
def test_a_signal_meant_for_the_worker_does_not_end_the_nursery(spawn, household: Household, number):
    before = spawn()
    os.kill(household.nursery.pid, number)
    assert spawn().call(os.getpid)
    assert before.call(os.getpid)


# Nothing is left behind


@whatever_it_started
def test_what_a_dead_child_started_dies_too(spawn, start):
    child, other = spawn(), spawn()
    others = other.call(a_program)
    with watched(*child.call(start)):
        child.send(signal.raise_signal, signal.SIGKILL)
    assert all(map(is_alive, others))


@whatever_it_started
def test_what_a_child_started_that_ended_in_order_dies_too(spawn, start):
    child = spawn()
    with watched(*child.call(start)):
        child.pipe.close()
    assert child.exit_code() == 0


@whatever_it_started
def test_closing_the_nursery_kills_everything_in_it(start):
    household = Household()
    child, idle = Child(household), Child(household)
    with watched(household.nursery.pid, child.pid, idle.pid, *child.call(start)):
        household.end()
    for each in (child, idle):
        each.pipe.close()
    assert household.gone.is_set()


def test_a_nursery_that_is_killed_takes_its_children_with_it_and_is_missed(spawn, household: Household):
    child = spawn()
    child.call(os.getpid)  # it has settled in
    child.send(signal.pause)
    with watched(child.pid):
        os.kill(household.nursery.pid, signal.SIGKILL)
    assert household.gone.wait(WAIT)
    with pytest.raises(NurseryGone):
        spawn()


SUPERVISOR = """
import signal, sys, django
django.setup()
from tests.worker.household import Household
from tests.worker import test_nursery
household = Household()
child, idle = test_nursery.Child(household), test_nursery.Child(household)
started = child.call(getattr(test_nursery, sys.argv[1]))
print(household.nursery.pid, child.pid, idle.pid, *started, flush=True)
child.send(signal.pause)  # as a handler that hangs
signal.pause()
"""


@whatever_it_started
def test_a_supervisor_killed_with_9_takes_the_nursery_and_all_children_with_it(start):
    environment = {**os.environ, "DJANGO_SETTINGS_MODULE": "project.settings"}
    supervisor = subprocess.Popen(
        [sys.executable, "-c", SUPERVISOR, start.__name__],
        env=environment, cwd=settings.BASE_DIR, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    with supervisor:
        assert supervisor.stdout
        pids = [int(number) for number in supervisor.stdout.readline().split()]
        with watched(*pids):
            supervisor.kill()


def test_a_supervisor_that_dies_before_it_has_read_everything_is_gone_like_any_other():
    """The kernel tells of its end by another word then."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    nursery = NurseryProcess(ours, lambda pipe, board, slots: None, set())
    try:
        nursery.tell({"pid": 1, "code": 0})
        theirs.close()
        assert nursery.serve_once() is False
    finally:
        ours.close()
        os.close(nursery.wake_reader)
        os.close(nursery.wake_writer)


# What was open when the nursery was forked


def backend_pid() -> int:
    return int(scalar("SELECT pg_backend_pid()"))


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_a_connection_that_was_open_at_the_fork_stays_ours_alone():
    ours = backend_pid()
    household = Household()
    child = Child(household)
    try:
        assert child.call(backend_pid) != ours
        child.pipe.close()
        assert child.exit_code() == 0
    finally:
        household.end()
    assert backend_pid() == ours


FAILING = """
import django
django.setup()
from tests.worker.household import Household
from tests.worker.test_nursery import Child
def fail(connection, board, slots):
    raise LookupError("no such module")
household = Household(fail)
child = Child(household)
assert child.exit_code() == 1
household.end()
"""


def test_a_child_that_cannot_start_says_why():
    environment = {**os.environ, "DJANGO_SETTINGS_MODULE": "project.settings"}
    told = subprocess.run(
        [sys.executable, "-c", FAILING],
        env=environment, cwd=settings.BASE_DIR, stderr=subprocess.PIPE, text=True, check=True, timeout=60,
    )  # fmt: skip
    assert "LookupError: no such module" in told.stderr


def unprivileged(function: Callable[[], bool]) -> bool:
    """What it says in a process that is not root's."""
    pid = os.fork()
    if pid == 0:
        signal.alarm(int(WAIT))
        if os.geteuid() == 0:
            os.setresuid(65534, 65534, 65534)
        os._exit(0 if function() else 1)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0


def test_a_process_of_another_user_is_not_ours_to_kill_and_keeps_nobody_from_ending(monkeypatch: pytest.MonkeyPatch):
    """As what `sudo` started; here it is the first of all processes, which is root's."""
    assert unprivileged(lambda: proc.kill(1) is False)
    monkeypatch.setattr(nursery, "children_of", lambda pid: [1])
    process = NurseryProcess(socket.socket(), lambda *arguments: None, set())
    with process.control:
        assert unprivileged(lambda: process.kill_all() is None)  # type: ignore[func-returns-value]  # it comes back
    for end in (process.wake_reader, process.wake_writer):
        os.close(end)
