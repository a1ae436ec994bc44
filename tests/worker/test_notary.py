"""A hook that hangs is named, and holds up nobody but those behind it."""

import logging
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from time import monotonic

import pytest

from jobs.handlers.base import Answer, Outcome
from jobs.models import Job
from jobs.states import Status
from jobs.worker import notary
from jobs.worker.notary import LONG, MOST_WAITING, Notary, needs_notary
from tests.concurrency.threads import wait_until
from tests.factories import events_of, reload
from tests.handlers.reporter import a_claimed_job
from tests.worker.checker import check
from tests.worker.stage import Stage

Register = Callable[..., str]


class Desk:
    """A notary whose hooks end when the test says so."""

    def __init__(self) -> None:
        self.gate, self.rested, self.hung_up = threading.Event(), 0, 0
        self.finished: list[Answer] = []
        self.failures: list[BaseException] = []
        self.locked: set[object] = set()
        self.notary = Notary(self, self.hand_in, self.finished.extend, self.failures.append)  # type: ignore[arg-type]

    def hand_in(self, outcomes: Sequence[Outcome], locked: list[Outcome] | None = None) -> list[Answer]:
        assert self.gate.wait(20)
        assert outcomes[0].result != "broken"
        if locked is not None and outcomes[0].result in self.locked:
            locked += outcomes
            return []
        return [Answer(outcome.claim, Status.COMPLETED) for outcome in outcomes]

    def give(self, result: object = None) -> None:
        job = a_claimed_job(kind="films.build")
        self.notary.finish(job, Outcome.completed(job.claim, result))

    def rest(self) -> None:
        self.rested += 1

    def hang_up(self) -> None:
        self.hung_up += 1


@pytest.fixture
def desk() -> Iterator[Desk]:
    desk = Desk()
    yield desk
    desk.gate.set()
    desk.notary.close()
    if desk.notary.ident:
        desk.notary.join(20)
        assert desk.hung_up == 1


def test_only_a_completion_of_a_kind_with_a_hook_is_for_the_notary(kind: Register):
    hooked, plain = (a_claimed_job(kind=kind(on_complete=hook)) for hook in (lambda job, result: None, None))
    assert needs_notary(hooked, Outcome.completed(hooked.claim, None))
    assert not needs_notary(hooked, Outcome.failed(hooked.claim, "no"))
    assert not needs_notary(plain, Outcome.completed(plain.claim, None))
    unknown = a_claimed_job(kind="nobody.knows")
    assert not needs_notary(unknown, Outcome.completed(unknown.claim, None))


def test_one_whose_job_is_locked_holds_up_no_other_and_is_handed_in_later(desk: Desk, monkeypatch):
    monkeypatch.setattr(notary, "LOCKED_AGAIN", 0.02)
    desk.locked.add("locked")
    desk.gate.set()
    for result in ("locked", "free"):
        desk.give(result)
    wait_until(lambda: len(desk.finished) == 1 and desk.rested > 3)
    assert desk.notary.delay(monotonic()) == ""
    desk.locked.clear()
    wait_until(lambda: len(desk.finished) == 2)


def test_one_whose_job_is_locked_when_it_ends_is_waited_for(desk: Desk):
    desk.locked.add("locked")
    desk.gate.set()
    desk.give("locked")
    wait_until(lambda: desk.rested == 1)
    desk.notary.close()
    desk.notary.join(20)
    assert len(desk.finished) == 1


def test_a_hook_that_takes_long_is_named_again_when_it_took_twice_as_long(desk: Desk, caplog):
    caplog.set_level(logging.WARNING, "jobs.worker")
    for _ in range(2):
        desk.give()
    wait_until(lambda: desk.rested == 1)
    now = monotonic()
    assert desk.notary.delay(now) == ""
    for seconds in (0.5, 1.1, 1.9, 2.1, 3.9, 4.1):
        desk.notary.complain(now + seconds * LONG)
    assert [record.getMessage() for record in caplog.records] == [
        f"on_complete takes long job=7 kind=films.build seconds={seconds} waiting=1" for seconds in (11, 21, 41)
    ]
    desk.gate.set()
    wait_until(lambda: len(desk.finished) == 2)
    wait_until(lambda: desk.notary.delay(now + 1e9) == "")


def test_it_says_when_too_many_wait(desk: Desk):
    for _ in range(MOST_WAITING):
        desk.give()
    wait_until(lambda: desk.rested == 1)
    assert not desk.notary.is_swamped
    desk.give()
    assert desk.notary.is_swamped
    desk.gate.set()
    wait_until(lambda: not desk.notary.is_swamped)


def test_where_there_is_no_room_for_its_thread_it_is_done_on_the_spot(desk: Desk, monkeypatch: pytest.MonkeyPatch):
    def start(self: Notary) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(Notary, "start", start)
    desk.gate.set()
    desk.give()
    assert len(desk.finished) == 1


def test_its_failure_is_told(desk: Desk):
    desk.gate.set()
    desk.give("broken")
    wait_until(lambda: len(desk.failures) == 1)


@pytest.mark.postgres  # on SQLite a transaction that hangs holds up every other
@pytest.mark.django_db(transaction=True)
def test_while_a_hook_hangs_other_jobs_are_completed_and_heartbeats_go_on(stage: Stage):
    worker = stage.worker()
    hooked = stage.add("app.hooked")
    stage.wait_for(lambda: stage.history("end"))
    others = [stage.add("app.short") for _ in range(5)]
    stage.wait_for(lambda: Job.objects.filter(pk__in=others, status=Status.COMPLETED).count() == len(others))
    before = worker.row().last_heartbeat
    stage.wait_for(lambda: worker.row().last_heartbeat != before)
    assert (reload(hooked).status, reload(hooked).progress) == (Status.RUNNING, 40)
    stage.open_gate()
    assert stage.wait_for_end(hooked).status == Status.COMPLETED
    worker.send(signal.SIGTERM)
    assert worker.exit_code() == 0
    assert (events_of(hooked).count("claimed"), events_of(hooked)[-1]) == (1, "completed")
    check(stage.history())
