"""The board: what a child marked on it is read when the child is dead."""

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from time import monotonic

import pytest

from jobs.process_identity import read_stat
from jobs.worker import board as board_module
from jobs.worker import fences
from jobs.worker.board import ASKED, KEPT, PLACES, TAKEN, Board
from jobs.worker.nursery import ChildMain
from tests.concurrency.threads import wait_until
from tests.worker.household import Household

LAST = PLACES - 1
SIZES = (1, 7, PLACES)  # of what is called back at once


@pytest.fixture
def board() -> Iterator[Board]:
    memory = Board.new_memory()
    board = Board(memory)
    os.close(memory)
    yield board
    board.close()


def test_a_place_tells_whether_its_job_has_begun_and_ended(board: Board):
    assert (board.began_at(3), board.ended_at(3)) == (None, None)
    before = monotonic()
    board.begin(3)
    began = board.began_at(3)
    assert began is not None
    assert before <= began <= monotonic()
    assert not board.ended_at(3)
    board.end(3)
    assert board.began_at(3) is None
    assert began <= (board.ended_at(3) or 0) <= monotonic()
    board.yield_lease(3)
    assert (board.began_at(3), board.ended_at(3), board.has_yielded(3)) == (None, None, True)
    board.clear(3)
    assert (board.began_at(3), board.ended_at(3)) == (None, None)


def test_places_and_leases_do_not_touch_each_other(board: Board):
    for place in (0, LAST):
        board.begin(place)
        board.set_lease(place, 70.0 + place)
    assert [board.lease_ends_at(place) for place in (0, 1, LAST - 1, LAST)] == [70.0, 0.0, 0.0, 70.0 + LAST]
    assert [board.began_at(place) is not None for place in (0, 1, LAST - 1, LAST)] == [True, False, False, True]


def mark_and_die(connection: Connection, board: int, slots: int) -> None:
    mine = Board(board)
    mine.begin(0)
    mine.begin(LAST)
    mine.end(LAST)
    assert mine.lease_ends_at(7) == 4711.0
    signal.raise_signal(signal.SIGKILL)


def test_what_a_child_marked_is_read_when_it_is_dead():
    household = Household(mark_and_die)
    memory = Board.new_memory()
    board = Board(memory)
    try:
        board.set_lease(7, 4711.0)
        pid, pipe = household.nursery.spawn(1, memory)
        wait_until(lambda: pid in household.exit_codes)
        assert household.exit_codes[pid] == -signal.SIGKILL
        assert board.began_at(0) is not None
        assert board.ended_at(LAST)
        assert (board.began_at(1), board.ended_at(1)) == (None, None)
        pipe.close()
    finally:
        household.end()
        board.close()
        os.close(memory)


# Begun, or called back


def test_what_has_begun_is_not_called_back_and_what_was_called_back_does_not_begin(board: Board):
    assert board.begin(0)
    assert not board.recall([0])
    board.end(0)
    assert not board.recall([0])
    assert board.recall([0, 1, 2]) == {1, 2}
    assert not board.recall([1])
    assert (board.is_recalled(1), board.began_at(1), board.ended_at(1)) == (True, None, None)
    assert not board.begin(1)
    assert (board.is_recalled(1), board.began_at(1)) == (False, None)
    board.clear(1)
    assert board.begin(1)


@contextmanager
def shared_with(main: ChildMain) -> Iterator[tuple[Board, int, Connection, Household]]:
    """A board, and a child that has it, too."""
    household, memory = Household(main), Board.new_memory()
    board = Board(memory)
    pid, pipe = household.nursery.spawn(1, memory)
    try:
        yield board, pid, pipe, household
    finally:
        pipe.close()
        household.end()
        board.close()
        os.close(memory)


def begin_all(connection: Connection, board: int, slots: int) -> None:
    mine = Board(board)
    while connection.recv():
        connection.send([mine.begin(place) for place in range(PLACES)])


def test_each_of_many_jobs_either_begins_or_is_called_back_whoever_is_faster():
    with shared_with(begin_all) as (board, _, pipe, _):
        for turn in range(40):
            for place in range(PLACES):
                board.clear(place)
            pipe.send(True)
            meeting = range(PLACES - 1, -1, -1) if turn % 2 else range(PLACES)  # against it, and beside it
            size = SIZES[turn % len(SIZES)]
            chunks = [meeting[start : start + size] for start in range(0, PLACES, size)]
            recalled = {place for chunk in chunks for place in board.recall(chunk)}
            begun = pipe.recv()
            assert [place in recalled for place in range(PLACES)] == [not each for each in begun]
        pipe.send(False)


def test_what_begins_while_it_is_called_back_is_left_to_its_child(board: Board, monkeypatch: pytest.MonkeyPatch):
    def pass_late() -> None:
        """Behind it, the mark of a child that had looked before it was asked is seen."""
        board._marks[0] = monotonic()

    monkeypatch.setattr(board_module, "fence", pass_late)
    assert board.recall([0, 1]) == {1}
    assert board.began_at(0) is not None
    assert (board._recalls[0], board._recalls[1]) == (KEPT, TAKEN)


def stop_having_begun(connection: Connection, board: int, slots: int) -> None:
    Board(board).begin(3)
    signal.raise_signal(signal.SIGSTOP)


def test_a_child_that_is_stopped_holds_nobody_up_and_keeps_only_what_it_has_begun():
    with shared_with(stop_having_begun) as (board, pid, _, household):
        wait_until(lambda: read_stat(pid)[0] == "T")
        assert board.recall([3, 4]) == {4}
        os.kill(pid, signal.SIGKILL)
        wait_until(lambda: pid in household.exit_codes)
        assert not board.recall([3])
        assert board.began_at(3) is not None


def test_where_the_kernel_knows_no_fence_it_waits_instead(board: Board, monkeypatch: pytest.MonkeyPatch):
    waits: list[float] = []
    monkeypatch.setattr(fences, "SYSCALL", None)
    monkeypatch.setattr(fences, "sleep", waits.append)
    assert board.recall([0, 1]) == {0, 1}
    assert waits == [fences.LONG_AGO]


def begin_one(connection: Connection, board: int, slots: int) -> None:
    connection.recv()
    connection.send(Board(board).begin(0))


@pytest.mark.parametrize("decision", [KEPT, TAKEN])
def test_a_child_that_was_asked_waits_for_the_decision(decision):
    with shared_with(begin_one) as (board, _, pipe, _):
        board._recalls[0] = ASKED  # as the supervisor does, before it has looked
        pipe.send("begin")  # a child that starts quickly would not have been asked
        assert not pipe.poll(0.05)
        board._recalls[0] = decision
        assert pipe.recv() is (decision == KEPT)
