"""The crew: children that crash are replaced, later and later, and what each of them has to do is known."""

import errno
import os
import signal
import threading
from collections.abc import Iterator
from pathlib import Path
from time import monotonic

import pytest

from jobs.worker import child_handle
from jobs.worker import crew as crew_module
from jobs.worker.board import PLACES, Board
from jobs.worker.child_handle import ChildHandle
from jobs.worker.crew import CRASH_WINDOW, CRASHES_TO_GIVE_UP, Berth, Crew
from jobs.worker.messages import Ended, Reason
from jobs.worker.nursery import NO_ROOM, CannotFork
from jobs.worker.pipes import Speaker
from jobs.worker.proc import children_of
from tests.concurrency.threads import wait_until
from tests.handlers.reporter import a_claimed_job
from tests.worker.clock import Clock
from tests.worker.full_machine import FullMachine
from tests.worker.household import Household, give, on_hung_up, tell, wait_until_gone

FOR_EVER = 1e9  # seconds


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    for module in (crew_module, child_handle):
        monkeypatch.setattr(module, "monotonic", clock)
    return clock


# A place in the pool


def test_each_crash_makes_the_next_start_wait_longer(clock: Clock):
    berth = Berth()
    waits = []
    for _ in range(5):
        berth.crashed()
        waits.append(berth.restart_at - clock.now)
    assert waits == [1, 4, 16, 60, 60]


def test_five_crashes_in_five_minutes_are_hopeless_and_four_are_not(clock: Clock):
    berth = Berth()
    for number in range(1, CRASHES_TO_GIVE_UP + 1):
        assert not berth.hopeless
        clock.now += CRASH_WINDOW / CRASHES_TO_GIVE_UP
        berth.crashed()
        assert len(berth.crashes) == number
    assert berth.hopeless


def test_crashes_of_long_ago_are_forgotten(clock: Clock):
    berth = Berth()
    for _ in range(20):
        berth.crashed()
        clock.now += CRASH_WINDOW / (CRASHES_TO_GIVE_UP - 2)
        assert not berth.hopeless
    clock.now += CRASH_WINDOW
    berth.crashed()
    assert berth.restart_at == clock.now + 1


# The pool


class Pool(Household):
    """A crew of two processes with three slots each."""

    def __init__(self) -> None:
        super().__init__()
        self.crew = Crew(self.nursery, 2, 3, self.on_words, on_hung_up)

    def new(self) -> list[ChildHandle]:
        """Start those that are missing and due; returns them."""
        before = set(self.crew.children)
        self.crew.man()
        new = [child for child in self.crew.children if child not in before]
        self.children += new
        return new

    def bury(self, child: ChildHandle) -> None:
        wait_until_gone(child)
        self.crew.remove(child)

    def end(self) -> None:
        self.nursery.close()
        for child in self.crew.children:
            child.close()


@pytest.fixture
def pool() -> Iterator[Pool]:
    pool = Pool()
    yield pool
    pool.end()


def test_all_places_are_manned_once(pool: Pool):
    assert len(pool.new()) == 2
    assert pool.new() == []
    assert sorted(children_of(pool.nursery.pid)) == sorted(child.pid for child in pool.crew.pool)
    assert all(pool.crew.find(child.pid) is child for child in pool.crew.children)
    assert pool.crew.find(1) is None


def test_a_child_that_died_by_itself_counts_as_crashed_and_is_replaced_when_its_time_has_come(pool: Pool):
    child, other = pool.new()
    tell(child, os._exit, 3)
    pool.bury(child)
    assert pool.new() == []
    pool.crew.berths[0].restart_at = 0.0
    (replacement,) = pool.new()
    tell(replacement, os._exit, 3)
    pool.bury(replacement)
    assert pool.new() == []
    assert pool.crew.berths[0].restart_at > monotonic()
    pool.crew.berths[0].restart_at = 0.0
    assert len(pool.new()) == 1
    assert other in pool.crew.pool
    assert [len(berth.crashes) for berth in pool.crew.berths] == [2, 0]


def test_one_that_we_killed_has_not_crashed_and_is_replaced_at_once(pool: Pool):
    for _ in range(CRASHES_TO_GIVE_UP):
        pool.new()
        child = pool.crew.pool[0]
        child.kill()
        pool.bury(child)
    assert len(pool.new()) == 1
    assert not pool.crew.hopeless


def test_a_place_whose_children_die_again_and_again_makes_the_crew_hopeless(pool: Pool):
    for _ in range(CRASHES_TO_GIVE_UP):
        assert not pool.crew.hopeless
        pool.new()
        child = pool.crew.pool[0]
        tell(child, os._exit, 3)
        pool.bury(child)
        pool.crew.berths[0].restart_at = 0.0
    assert pool.crew.hopeless


def test_a_child_for_one_job_alone_is_no_part_of_the_pool(pool: Pool):
    alone = pool.crew.new_isolated_child()
    pool.children.append(alone)
    assert (pool.crew.pool, pool.crew.children, alone.slots, alone.isolated) == ([], [alone], 1, True)
    tell(alone, os._exit, 3)
    pool.bury(alone)
    assert pool.crew.children == []
    assert not any(berth.crashes for berth in pool.crew.berths)


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FullMachine:
    machine = FullMachine(tmp_path, monkeypatch)
    machine.limit_processes()
    return machine


def test_where_no_process_can_be_made_none_has_crashed_and_they_are_made_when_there_is_room(
    machine: FullMachine, pool: Pool, caplog: pytest.LogCaptureFixture
):
    machine.fill(FOR_EVER)
    for _ in range(CRASHES_TO_GIVE_UP):
        assert pool.new() == []
        assert pool.crew.forking.wait > 0
        pool.crew.forking._pause = 0.0  # its time has come
    with pytest.raises(CannotFork, match="Resource temporarily unavailable"):
        pool.crew.new_isolated_child()
    assert not any(berth.crashes for berth in pool.crew.berths)
    assert caplog.text.count("no new process can be made") == 1
    machine.empty()
    pool.crew.forking._pause = 0.0
    assert len(pool.new()) == 2


def test_too_many_open_files_are_no_crash_either(pool: Pool, monkeypatch, caplog: pytest.LogCaptureFixture):
    def fail() -> int:
        raise OSError(errno.EMFILE, "Too many open files")

    monkeypatch.setattr(Board, "new_memory", fail)
    assert pool.new() == []
    assert not any(berth.crashes for berth in pool.crew.berths)
    assert "Too many open files" in caplog.text


def test_a_child_that_has_no_room_for_its_threads_has_not_crashed(pool: Pool):
    child, other = pool.new()
    for each in (child, other):
        tell(each, os._exit, NO_ROOM)
    other.board.count()  # one that has done something ends as it likes
    pool.bury(child)
    assert pool.crew.forking.wait > 0
    pool.bury(other)
    assert [len(berth.crashes) for berth in pool.crew.berths] == [0, 1]


@pytest.mark.parametrize("thread", [Speaker, threading.Thread])
def test_a_child_for_whose_threads_there_is_no_room_ends_and_leaves_nothing(
    pool: Pool, monkeypatch: pytest.MonkeyPatch, thread: type[threading.Thread]
):
    def start(self: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    pool.new()  # with all that is made once
    held = (threading.active_count(), len(os.listdir("/proc/self/fd")))
    monkeypatch.setattr(thread, "start", start)
    with pytest.raises(CannotFork, match="can't start new thread"):
        pool.crew.new_isolated_child()
    wait_until(lambda: len(pool.exit_codes) == 1)  # killed, or told by the end of its pipe before that
    assert (threading.active_count(), len(os.listdir("/proc/self/fd"))) == held
    assert sorted(children_of(pool.nursery.pid)) == sorted(child.pid for child in pool.crew.children)


# One child


def test_a_job_has_a_place_on_the_board_while_it_is_the_childs(household: Household):
    child = household.child()
    assignments = [give(child, a_claimed_job()) for _ in range(3)]
    assert len({assignment.place for assignment in assignments}) == 3
    child.board.begin(assignments[0].place)
    assert assignments[0].began_at is not None
    assert child.ended(assignments[0].job.claim) is assignments[0]
    assert child.ended(assignments[0].job.claim) is None
    assert list(child.assignments.values()) == assignments[1:]


def test_a_place_that_is_used_again_is_clean(household: Household):
    child = household.child()
    for _ in range(PLACES + 1):
        assignment = give(child, a_claimed_job())
        assert (assignment.began_at, assignment.ended_at) == (None, None)
        child.board.begin(assignment.place)
        child.board.end(assignment.place)
        child.ended(assignment.job.claim)


def test_a_child_that_retires_says_its_last_words_and_ends_in_order(household: Household):
    child = household.child()
    word = Ended(a_claimed_job().claim, None, 0.0)
    tell(child, list, [word])
    child.retire()
    wait_until_gone(child)
    assert (child.exit_code, household.words) == (0, [word])


def test_a_child_that_reads_nothing_holds_nobody_up(household: Household):
    child = household.child()
    tell(child, input_that_never_comes)
    for _ in range(20):
        give(child, a_claimed_job(payload={"text": "x" * 1_000_000}))  # far more than a pipe holds
    child.kill()
    wait_until_gone(child)
    assert child.exit_code == -9


def input_that_never_comes() -> None:
    reader, _ = os.pipe()
    os.read(reader, 1)


def test_a_child_is_killed_once(household: Household):
    child = household.child()
    for _ in range(2):
        child.kill()
    wait_until(lambda: child.exit_code == -9)
    child.kill()  # its number may be somebody else's by now


# One attempt


@pytest.mark.parametrize(
    ("reasons", "kept"),
    [
        ([Reason.CANCELLED, Reason.TIMEOUT], Reason.TIMEOUT),
        ([Reason.TIMEOUT, Reason.STOPPING], Reason.TIMEOUT),
        ([Reason.STOPPING, Reason.CANCELLED], Reason.STOPPING),
        ([Reason.LOST, Reason.STOPPING], Reason.LOST),
    ],
)
def test_the_first_reason_to_stop_counts_unless_it_was_only_a_request(household: Household, reasons, kept):
    assignment = household.assignment()
    for reason in reasons:
        assignment.stop(reason)
    assert assignment.stop_reason == kept
    assert assignment.kill_at is None


def test_patience_is_never_made_longer_by_a_later_order(household: Household, clock: Clock):
    assignment = household.assignment()
    assignment.stop(Reason.TIMEOUT, patience=3)
    clock.now += 1
    assignment.stop(Reason.STOPPING, patience=3)
    assert assignment.kill_at == 1003.0
    assignment.stop(Reason.STOPPING, patience=0)
    assert assignment.kill_at == 1001.0


# How much a child is given


def test_what_would_only_wait_behind_a_long_job_is_not_given(household: Household):
    child = household.child(slots=2)
    assert child.room(per_slot=10, now=monotonic()) == 20
    first, *_ = [give(child, a_claimed_job()) for _ in range(5)]
    assert child.room(per_slot=10, now=monotonic()) == 15
    child.board.begin(first.place)
    now = first.began_at or 0.0
    assert (child.open_slots(now), child.room(10, now)) == (2, 15)
    assert (child.open_slots(now + 60), child.room(10, now + 60)) == (1, 6)
    assert child.room(1, now + 60) == 0


def test_what_has_not_begun_is_called_back_without_a_word_from_the_child(household: Household):
    child = household.child()
    os.kill(child.pid, signal.SIGSTOP)
    begun, *waiting = [give(child, a_claimed_job()) for _ in range(3)]
    child.board.begin(begun.place)
    assert child.recall() == [assignment.job.claim for assignment in waiting]
    assert list(child.assignments.values()) == [begun]
    assert child.recall() == []
    os.kill(child.pid, signal.SIGCONT)


def test_a_child_is_given_nothing_more_until_it_has_come_to_what_was_called_back(household: Household):
    child = household.child()
    first, second = [give(child, a_claimed_job()) for _ in range(2)]
    child.recall()
    free = len(child.free_places)
    for assignment, left in ((first, 0), (second, 10)):
        assert child.room(per_slot=10, now=monotonic()) == 0
        assert not child.board.begin(assignment.place)
        child.board.count()  # as the child does with each that it is through with
        assert child.room(per_slot=10, now=monotonic()) == left
    assert len(child.free_places) == free + 2


def test_a_child_is_given_more_when_it_is_through_though_it_has_not_said_how_they_ended(household: Household):
    child = household.child()
    for assignment in [give(child, a_claimed_job()) for _ in range(5)]:
        child.board.begin(assignment.place)
        child.board.end(assignment.place)
        child.board.count()
    assert len(child.assignments) == 5
    assert child.room(per_slot=10, now=monotonic()) == 10
    while len(child.free_places) > 3:  # what ended keeps its place until it is heard of
        child.free_places.pop()
    assert child.room(per_slot=10, now=monotonic()) == 3


def test_a_child_of_its_own_ends_when_its_job_was_called_back(household: Household):
    child = household.child(isolated=True)
    assignment = give(child, a_claimed_job())
    assert child.recall() == [assignment.job.claim]
    wait_until_gone(child)
