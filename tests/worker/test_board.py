"""The board: what a child marked on it is read when the child is dead."""

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from time import monotonic

import pytest

from jobs.process_identity import read_stat
from jobs.worker.board import PLACES, Board
from jobs.worker.nursery import ChildMain
from jobs.worker.place_locks import try_lock
from tests.concurrency.threads import wait_until
from tests.worker.household import Household

LAST = PLACES - 1


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
    assert not board.recall(0)
    board.end(0)
    assert not board.recall(0)
    assert board.recall(1)
    assert not board.recall(1)
    assert (board.is_recalled(1), board.began_at(1), board.ended_at(1)) == (True, None, None)
    assert not board.begin(1)
    assert (board.is_recalled(1), board.began_at(1)) == (False, None)
    board.clear(1)
    assert board.begin(1)


def test_without_its_file_a_board_decides_nothing(board: Board):
    os.close(board._file)
    for act in (board.begin, board.recall):
        with pytest.raises(OSError, match="cannot be locked"):
            act(0)
    assert not board.is_recalled(0)
    assert board.began_at(0) is None
    board._file = os.open(os.devnull, os.O_RDONLY)


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
            recalled = {place: board.recall(place) for place in meeting}
            begun = pipe.recv()
            assert [recalled[place] for place in range(PLACES)] == [not each for each in begun]
        pipe.send(False)


def stop_while_beginning(connection: Connection, board: int, slots: int) -> None:
    mine = Board(board)
    assert try_lock(mine._file, 3)
    signal.raise_signal(signal.SIGSTOP)


def test_a_child_that_is_stopped_while_it_begins_holds_nobody_up_and_when_it_is_dead_its_lock_is_gone():
    with shared_with(stop_while_beginning) as (board, pid, _, household):
        wait_until(lambda: read_stat(pid)[0] == "T")
        assert (board.recall(3), board.recall(4)) == (False, True)
        os.kill(pid, signal.SIGKILL)
        wait_until(lambda: pid in household.exit_codes)
        assert board.recall(3)
