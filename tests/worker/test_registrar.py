"""The registrar: outcomes are handed in beside everything else, together if they come while it is busy."""

import threading
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from jobs.handlers.base import Answer, ClaimRef, Outcome
from jobs.states import Status
from jobs.worker import registrar
from jobs.worker.registrar import Registrar
from tests.concurrency.threads import wait_until
from tests.handlers.reporter import a_claimed_job

SHORT = 20  # seconds: longer than anything here takes


class Office:
    """A registrar, and a queue that answers when it is let."""

    def __init__(self, at_once: bool = True) -> None:
        self.calls: list[list[Outcome]] = []
        self.threads: set[threading.Thread] = set()
        self.answered: list[Answer] = []
        self.failures: list[BaseException] = []
        self.open = threading.Event()
        self.hung_up = threading.Event()
        self.error: Exception | None = None
        self.locked: set[ClaimRef] = set()
        client: Any = SimpleNamespace(
            answers_several_at_once=at_once, rest=lambda: None, hang_up=lambda: self.hung_up.set()
        )
        self.registrar = Registrar(client, self.hand_in, self.answered.extend, self.failures.append)

    def hand_in(self, outcomes: Sequence[Outcome], locked: list[Outcome] | None = None) -> list[Answer]:
        self.calls.append(list(outcomes))
        self.threads.add(threading.current_thread())
        assert self.open.wait(SHORT)
        if self.error:
            raise self.error
        if locked is not None:
            locked += [outcome for outcome in outcomes if outcome.claim in self.locked]
            outcomes = [outcome for outcome in outcomes if outcome.claim not in self.locked]
        return [Answer(outcome.claim, Status.COMPLETED) for outcome in outcomes]


def an_outcome() -> Outcome:
    return Outcome.completed(a_claimed_job().claim)


def test_what_comes_while_it_is_busy_goes_together_and_nothing_is_left_when_it_ends():
    office, outcomes = Office(), [an_outcome() for _ in range(4)]
    office.registrar.finish(outcomes[:1])
    wait_until(lambda: len(office.calls) == 1)
    office.registrar.finish(outcomes[1:3])
    office.registrar.finish(outcomes[3:])
    office.open.set()
    office.registrar.end()
    assert office.calls == [outcomes[:1], outcomes[1:]]
    assert [answer.claim for answer in office.answered] == [outcome.claim for outcome in outcomes]
    assert office.threads == {office.registrar}
    assert office.hung_up.is_set()


def test_what_is_locked_is_told_later_by_itself_and_holds_up_no_other(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(registrar, "LOCKED_AGAIN", 0.05)
    office, (locked, other, later) = Office(), [an_outcome() for _ in range(3)]
    office.locked.add(locked.claim)
    office.open.set()
    office.registrar.finish([locked, other])
    wait_until(lambda: office.calls.count([locked]) > 1)
    office.registrar.finish([later])
    wait_until(lambda: len(office.answered) == 2)
    assert [answer.claim for answer in office.answered] == [other.claim, later.claim]
    wait_until(lambda: office.registrar.delay().endswith(f": {locked.claim.job_id}"))
    office.locked.clear()
    wait_until(lambda: len(office.answered) == 3)
    wait_until(lambda: not office.registrar.delay())
    office.registrar.end()
    assert all(locked not in call for call in office.calls[1:] if len(call) > 1)


def test_what_is_locked_when_it_ends_is_waited_for():
    office, locked = Office(), an_outcome()
    office.locked.add(locked.claim)
    office.open.set()
    office.registrar.finish([locked])
    wait_until(lambda: bool(office.calls))
    office.registrar.end()  # then it is handed in without being set aside
    assert [answer.claim for answer in office.answered] == [locked.claim]


def test_where_the_queue_answers_one_by_one_it_is_done_on_the_spot():
    office = Office(at_once=False)
    office.open.set()
    office.registrar.finish([an_outcome()])
    assert len(office.answered) == 1
    assert office.threads == {threading.current_thread()}
    office.registrar.end()


def test_where_there_is_no_room_for_its_thread_it_is_done_on_the_spot_until_there_is(monkeypatch: pytest.MonkeyPatch):
    def start(self: Registrar) -> None:
        raise RuntimeError("can't start new thread")

    office = Office()
    office.open.set()
    with monkeypatch.context() as full:
        full.setattr(Registrar, "start", start)
        office.registrar.finish([an_outcome()])
    assert (len(office.answered), office.threads) == (1, {threading.current_thread()})
    office.registrar.finish([an_outcome()])
    office.registrar.end()
    assert (len(office.answered), office.threads) == (2, {threading.current_thread(), office.registrar})


def test_one_that_was_never_needed_ends_at_once():
    Office().registrar.end()


@pytest.mark.parametrize("error", [RuntimeError("nobody foresaw this")])
def test_an_error_is_told_and_ends_it(error):
    office = Office()
    office.error = error
    office.open.set()
    office.registrar.finish([an_outcome()])
    office.registrar.join(SHORT)
    assert office.failures == [error]
    assert office.hung_up.is_set()
