"""Calls that are repeated: whether the queue answers is known while they are."""

import threading

from jobs.worker import persistence
from jobs.worker.persistence import Persistence
from jobs.worker.queue_client import QueueUnavailable
from tests.concurrency.threads import TIMEOUT, wait_until


def test_it_knows_for_how_long_the_queue_has_not_answered(monkeypatch):
    monkeypatch.setattr(persistence, "LONGEST_PAUSE", 0.01)
    persist, is_back = Persistence(), threading.Event()

    def call() -> str:
        if not is_back.is_set():
            raise QueueUnavailable("it is away")
        return "here"

    assert persist.unanswered_for() == 0
    answers: list[str] = []
    calling = threading.Thread(target=lambda: answers.append(persist(call)))
    calling.start()
    wait_until(lambda: persist.unanswered_for() > 0.1)
    persist(lambda: "another thread's call")
    assert persist.unanswered_for() > 0.1
    is_back.set()
    calling.join(TIMEOUT)
    assert answers == ["here"]
    assert persist.unanswered_for() == 0
