"""The board: what a child marked on it is read when the child is dead."""

import os
import signal
from collections.abc import Iterator
from multiprocessing.connection import Connection
from time import monotonic

import pytest

from jobs.worker.board import PLACES, Board
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
