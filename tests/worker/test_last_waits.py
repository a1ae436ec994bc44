"""What is under way when a worker ends is waited for together, until one deadline or a signal."""

import signal
import threading
from collections.abc import Iterator
from time import monotonic

import pytest

from jobs.worker.last_waits import LastWaits
from tests.patience import PATIENCE

FOR_EVER = 10 * PATIENCE


@pytest.fixture
def hanging() -> Iterator[threading.Thread]:
    """A thread that ends with the test."""
    over = threading.Event()
    thread = threading.Thread(target=over.wait, args=[2 * PATIENCE])
    thread.start()
    yield thread
    over.set()
    thread.join(PATIENCE)


def seconds_waited(waits: LastWaits, thread: threading.Thread, **options: float) -> float:
    """For a thread that does not end."""
    began = monotonic()
    assert not waits.wait_for(thread, **options)
    return monotonic() - began


def test_what_has_ended_or_never_began_is_not_waited_for():
    waits, ended = LastWaits(FOR_EVER), threading.Thread(target=lambda: None)
    assert waits.wait_for(ended)
    ended.start()
    assert waits.wait_for(ended)


def test_who_is_waited_for_first_leaves_nothing_to_the_second(hanging: threading.Thread, monkeypatch):
    waits = LastWaits(0.3)
    assert not waits.wait_for(hanging)
    assert monotonic() >= waits.began + 0.3
    monkeypatch.setattr(hanging, "join", None)
    assert not waits.wait_for(hanging)
    monkeypatch.undo()


def test_each_may_have_a_deadline_of_its_own(hanging: threading.Thread):
    waits = LastWaits(FOR_EVER)
    assert seconds_waited(waits, hanging, until=waits.began + 0.2) < PATIENCE
    assert waits.left > PATIENCE


def test_what_must_have_some_time_has_it_also_when_none_is_left(hanging: threading.Thread):
    assert seconds_waited(LastWaits(0), hanging, least=0.2) >= 0.2


def test_a_signal_leaves_but_a_moment(hanging: threading.Thread):
    waits = LastWaits(FOR_EVER)
    waits.hurry(signal.SIGTERM)
    assert seconds_waited(waits, hanging) < PATIENCE
