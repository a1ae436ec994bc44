"""A machine without room for another process: said once, tried later and later, and no job is moved to and fro."""

import logging

import pytest

from jobs.worker import forking as forking_module
from jobs.worker.forking import FORGOTTEN, LONGEST_PAUSE, Forking
from jobs.worker.nursery import CannotFork
from tests.worker.clock import Clock


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(forking_module, "monotonic", clock)
    return clock


def fail(forking: Forking, error: Exception) -> None:
    with pytest.raises(CannotFork, match=str(error)), forking.tried():
        raise error


def test_each_failure_makes_the_next_try_wait_longer(clock: Clock):
    forking, waits = Forking(), []
    assert forking.wait == 0
    for _ in range(8):
        fail(forking, CannotFork("full"))
        waits.append(forking.wait)
        clock.now += forking.wait
    assert waits == [1, 2, 4, 8, 16, 32, LONGEST_PAUSE, LONGEST_PAUSE]


def test_while_it_waits_nothing_is_tried_and_that_is_no_failure(clock: Clock):
    forking = Forking()
    fail(forking, CannotFork("full"))
    for _ in range(3):
        with pytest.raises(CannotFork, match="full"), forking.tried():
            pytest.fail("it was tried")
    assert forking.wait == 1


def test_it_is_said_once_and_again_when_it_changes_or_was_forgotten(clock: Clock, caplog: pytest.LogCaptureFixture):
    forking = Forking()
    for error in (CannotFork("full"), CannotFork("full"), OSError("no files"), OSError("no files"), CannotFork("full")):
        fail(forking, error)
        clock.now += forking.wait
    assert [record.levelno for record in caplog.records] == [logging.ERROR] * 3
    told = [record.getMessage().partition("error=")[2] for record in caplog.records]
    assert told == ["'full'", "'no files'", "'full'"]
    clock.now += FORGOTTEN + 1
    fail(forking, CannotFork("full"))
    assert (len(caplog.records), forking.wait) == (4, 1)
