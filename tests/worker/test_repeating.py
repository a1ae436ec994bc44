"""A thread that repeats its steps: what it says of those that fail."""

import pytest

from jobs.worker.database_client import DatabaseClient
from jobs.worker.queue_client import QueueUnavailable
from jobs.worker.repeating import Repeating


def fails() -> None:
    raise QueueUnavailable("it is away")


def test_that_the_queue_is_away_is_told_while_it_is_needed_and_not_by_a_thread_that_is_to_stop(
    caplog: pytest.LogCaptureFixture,
):
    thread = Repeating("test", DatabaseClient("tester"))
    assert not thread.survive(fails)
    assert "fails failed error='it is away'" in caplog.text
    caplog.clear()
    thread.stop()
    assert not thread.survive(fails)
    assert caplog.text == ""
