"""The pipe to a child: what is said arrives in order, and a child that does not listen holds nobody up."""

import logging
import threading
from collections.abc import Iterator
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from typing import Any
from uuid import uuid4

import pytest

from jobs.handlers.base import ClaimRef
from jobs.worker.messages import Reason, Reply, Stop
from jobs.worker.pipes import ROOM, Speaker

TIMEOUT = 10.0


@pytest.fixture
def ends() -> Iterator[tuple[Speaker, Connection]]:
    ours, theirs = Pipe()
    speaker = Speaker(ours)
    speaker.start()
    yield speaker, theirs
    speaker.hush()
    theirs.close()
    speaker.join(TIMEOUT)
    ours.close()
    assert not speaker.is_alive()


def reply(number: int, size: int = 0) -> Reply:
    return Reply(number, ValueError("x" * size))


def heard(theirs: Connection, number: int) -> list[Any]:
    orders = []
    for _ in range(number):
        assert theirs.poll(TIMEOUT)
        orders.append(theirs.recv())
    return orders


def test_what_is_said_is_heard_whether_or_not_there_was_room(ends: tuple[Speaker, Connection]):
    speaker, theirs = ends
    stop = Stop(ClaimRef(1, uuid4()), Reason.LOST, force=True)
    speaker.say(stop)
    assert heard(theirs, 1) == [stop]

    def say_more_than_a_socket_holds() -> None:
        for number in range(200):
            speaker.say(reply(number, ROOM if number % 3 else 10))
        speaker.say(reply(200, 2 * ROOM))

    saying = threading.Thread(target=say_more_than_a_socket_holds, daemon=True)
    saying.start()
    saying.join(TIMEOUT)
    assert not saying.is_alive()  # though nobody listens
    assert [order.number for order in heard(theirs, 201)] == list(range(201))


def test_what_is_small_is_said_by_who_says_it():
    ours, theirs = Pipe()
    speaker = Speaker(ours)  # its thread was never started
    speaker.say(reply(1))
    assert [order.number for order in heard(theirs, 1)] == [1]
    ours.close()
    theirs.close()


def test_several_who_speak_at_once_do_not_interrupt_each_other(ends: tuple[Speaker, Connection]):
    speaker, theirs = ends

    def speak(first: int) -> None:
        for number in range(100):
            speaker.say(reply(first + number, 50 * number))

    speakers = [threading.Thread(target=speak, args=(first,)) for first in (0, 1000, 2000)]
    for thread in speakers:
        thread.start()
    numbers = [order.number for order in heard(theirs, 300)]
    for thread in speakers:
        thread.join(TIMEOUT)
    for first in (0, 1000, 2000):
        assert [number for number in numbers if first <= number < first + 1000] == list(range(first, first + 100))


def test_what_cannot_be_said_ends_the_orders(ends: tuple[Speaker, Connection], caplog: pytest.LogCaptureFixture):
    speaker, theirs = ends
    with caplog.at_level(logging.ERROR, "jobs.worker"):
        speaker.say(Reply(1, lambda: None))  # type: ignore[arg-type]  # on purpose
    assert "cannot be told what to do" in caplog.text
    with pytest.raises(EOFError):
        heard(theirs, 1)


def test_a_child_that_is_gone_is_no_error(ends: tuple[Speaker, Connection], caplog: pytest.LogCaptureFixture):
    speaker, theirs = ends
    theirs.close()
    for number in range(3):
        speaker.say(reply(number))
    assert caplog.text == ""
