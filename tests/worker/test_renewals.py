"""Renewals: all claims of the worker at once, not too often, and no longer than one of them may hold."""

from collections.abc import Collection
from typing import Any

import pytest

from jobs.exceptions import WorkerNotFound
from jobs.handlers.base import ClaimRef, Orders
from jobs.worker import renewals
from jobs.worker.ledger import Ledger
from jobs.worker.persistence import Persistence
from jobs.worker.renewals import Renewals
from tests.handlers.reporter import a_claimed_job

LONG = 3600.0  # seconds: what waits so long does not come to an end


class Queue:
    """Hears beats, and says which claims are lost."""

    heartbeat_interval = LONG

    def __init__(self, *lost: ClaimRef, gone: bool = False) -> None:
        self.lost, self.gone = lost, gone
        self.beats: list[Collection[ClaimRef]] = []

    def heartbeat(self, claims: Collection[ClaimRef], *, lists_all: bool) -> Orders:
        assert not lists_all  # the clerk may be claiming more
        self.beats.append(claims)
        if self.gone:
            raise WorkerNotFound(worker_id=1)
        return Orders(lost=self.lost)


MINE, OTHER = a_claimed_job(), a_claimed_job()


def renewing(queue: Any) -> Renewals:
    ledger = Ledger()
    ledger.add([MINE, OTHER], 0)
    return Renewals(queue, ledger, Persistence())


def test_all_claims_are_renewed_and_then_waited_for():
    queue = Queue()
    renewed = renewing(queue)
    assert renewed.help([MINE.claim], LONG)
    assert renewed.help([OTHER.claim], 0.001)
    assert queue.beats == [[MINE.claim, OTHER.claim]]


def test_they_are_renewed_again_after_a_share_of_the_time_between_beats(monkeypatch: pytest.MonkeyPatch):
    now = [100.0]
    monkeypatch.setattr(renewals, "monotonic", lambda: now[0])
    queue = Queue()
    renewed = renewing(queue)
    for later, beats in ((0, 1), (LONG / 5, 1), (LONG / 5, 2)):
        now[0] += later
        assert renewed.help([MINE.claim], 0.001)
        assert len(queue.beats) == beats


def test_what_the_ledger_does_not_hold_is_nobody_s_to_renew():
    renewed = renewing(Queue())
    renewed.ledger.drop([MINE.claim])
    assert not renewed.help([MINE.claim], LONG)


def test_who_must_go_waits_for_nothing():
    renewed = renewing(Queue())
    assert renewed.help([MINE.claim], LONG)
    renewed.persist.give_up.set()
    assert not renewed.help([MINE.claim], LONG)


@pytest.mark.parametrize(
    ("queue", "goes_on"),
    [
        (Queue(MINE.claim), False),
        (Queue(MINE.claim, OTHER.claim), False),
        (Queue(OTHER.claim), True),
        (Queue(gone=True), False),
    ],
)
def test_what_is_lost_is_not_asked_about_for_long(queue: Queue, goes_on: bool):
    assert renewing(queue).help([MINE.claim], LONG) is goes_on
