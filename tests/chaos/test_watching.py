"""Those who watch a chaos run are watched: what dies, stays, hangs on to sessions or does too little is noticed."""

import signal
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from django.db import InterfaceError

from jobs.exceptions import ClaimLost
from jobs.handlers.base import ClaimRef
from jobs.worker.shutdown import NEVER_ANSWERED
from tests.chaos import actors, apps, clients, nemesis
from tests.chaos.actors import Actor
from tests.chaos.aftermath import MOST_SESSIONS, excess
from tests.chaos.exits import Exit, wrong_exits
from tests.chaos.history import Line
from tests.chaos.nemesis import Fault, Step, torment
from tests.chaos.story import Event, JobRow, Story
from tests.chaos.volume import (
    CANCELLED,
    COMPLETED_BY_KIND,
    COMPLETED_BY_WORKER,
    ENDLESS_STARTS,
    ENQUEUED,
    FAULTS_MET,
    RETRIED,
    never_met,
    too_little,
    volumes,
)

pytestmark = pytest.mark.once
UNHEARD = "worker online\nstopping why='SIGTERM'\nqueue unavailable, trying again\nCommandError: gone"
IN_ORDER = {
    "killed": Exit("ada", -9, killed=True),
    "asked": Exit("ada", 0, asked=True),
    "asked, and killed after it": Exit("ada", 0, asked=True, killed=True),
    "asked before it could listen": Exit("ada", -15, asked=True),
    "asked, and could not tell": Exit("ada", 1, UNHEARD, asked=True),
    "asked before it was heard": Exit("ada", 1, f"stopping why='SIGTERM'\nCommandError: {NEVER_ANSWERED}", asked=True),
}
WRONG = {
    "by itself, as if in order": Exit("ada", 0),
    "by itself": Exit("ada", 1, UNHEARD),
    "killed by somebody else": Exit("ada", -9),
    "a crash where it was asked": Exit("ada", -11, asked=True),
    "asked, with an error of its own": Exit("ada", 1, "queue unavailable\nstopping why=\nKeyError: 1", asked=True),
    "ended by the signal after it was online": Exit("ada", -15, "worker online", asked=True),
    "never": Exit("ada", None, asked=True),
}


@pytest.mark.parametrize("exit_", IN_ORDER.values(), ids=IN_ORDER)
def test_an_exit_in_order_is_nothing_to_tell(exit_: Exit):
    assert wrong_exits([exit_]) == []


@pytest.mark.parametrize("exit_", WRONG.values(), ids=WRONG)
def test_any_other_exit_is_told(exit_: Exit):
    assert wrong_exits([IN_ORDER["killed"], exit_]) != []


@pytest.fixture
def actor(tmp_path: Path) -> Iterator[Actor]:
    actor = Actor("ada", ("sh", "-c", "exit 3", "runworker"), {}, tmp_path)
    yield actor
    actor.kill()
    actors.signal_all(actors.with_mark(actor.mark), signal.SIGKILL)


def with_a_program(actor: Actor) -> None:
    actor.command = ("sh", "-c", "sleep 600 & wait", "runworker")
    actor.start()
    assert actors.wait_until(lambda: len(actors.with_mark(actor.mark)) == 2, 60)


def test_who_died_by_itself_and_was_started_again_is_not_forgotten(actor: Actor):
    for _ in range(2):
        actor.start()
        assert actors.wait_until(lambda: not actor.runs, 60)
    actor.end()
    assert [exit_.code for exit_ in actor.exits] == [3, 3]


def test_only_who_lives_can_be_killed_stopped_or_asked(actor: Actor):
    assert (actor.kill(), actor.stop(), actor.terminate()) == (False, False, False)
    actor.command = ("sleep", "600")
    actor.start()
    assert (actor.stop(), actor.stop(), actor.terminate(), actor.terminate()) == (True, False, True, False)
    assert (actor.kill(), actor.kill()) == (True, False)


def test_a_program_that_outlives_its_worker_is_found(actor: Actor, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(actors, "GONE_WITHIN", 0.1)
    with_a_program(actor)
    actor.kill()
    assert len(actor.remains) == 1


def test_a_program_that_is_stopped_may_live_until_it_goes_on(actor: Actor, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(actors, "GONE_WITHIN", 0.1)
    monkeypatch.setattr(actors, "told", lambda *said, **more: None)
    with_a_program(actor)
    actor.stop()
    actor.kill()
    assert actor.remains == []
    actor.go_on()
    assert len(actor.remains) == 1


def test_who_does_not_leave_in_time_is_told(actor: Actor, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(actors, "ENDS_WITHIN", 0.1)
    actor.command = (sys.executable, "-c", "import signal; signal.pause()")
    actor.start()
    actor.leaves = True  # and it has heard nothing of it
    actor.await_end()
    assert wrong_exits(actor.exits) == ["ada did not end in time (asked to): it said nothing"]


def test_only_what_took_effect_counts_as_a_fault(monkeypatch: pytest.MonkeyPatch):
    said: list[str] = []

    def fails(site: object, name: str) -> bool:
        raise OSError("it is down already")

    begins: dict[str, Callable[[Any, str], bool]] = {
        "works": lambda site, name: True, "has no effect": lambda site, name: False, "fails": fails,
    }  # fmt: skip
    faults = {name: Fault(begin, lambda site, name: None, ("x",), 0, 0) for name, begin in begins.items()}
    monkeypatch.setattr(nemesis, "FAULTS", faults)
    monkeypatch.setattr(nemesis, "told", lambda what, **more: said.append(what))
    torment(None, [Step(0, name, "x", 0) for name in faults])  # type: ignore[arg-type]  # nobody looks at it
    assert said == ["works", "healed"]


def test_sessions_are_counted_for_each_and_nobody_else_has_any():
    assert excess(MOST_SESSIONS) == []
    for name in MOST_SESSIONS:
        assert len(excess({**MOST_SESSIONS, name: MOST_SESSIONS[name] + 1})) == 1
    assert len(excess({"clients": 1})) == 1


class Failing(clients.Client):
    """Raises what it is given, one after the other, and is through."""

    def __init__(self, *errors: Exception) -> None:
        super().__init__("failing", "1", 0.0)
        self.errors = list(errors)

    def act(self) -> None:
        if self.errors:
            raise self.errors.pop(0)
        clients.stop.set()


@pytest.mark.parametrize(
    ("errors", "code"), [([InterfaceError("closed"), OSError("away")], 0), ([KeyError("job_id")], 1)]
)
def test_a_client_goes_on_through_outages_and_nothing_else_is_hushed_up(
    errors: list[Exception], code: int, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(clients, "stop", threading.Event())
    assert clients.run_all([Failing(*errors)]) == code


def test_a_guard_is_noted_by_the_databases_clock_and_only_where_it_lets_somebody_through(
    monkeypatch: pytest.MonkeyPatch,
):
    noted: list[tuple[str, int, dict[str, Any]]] = []
    claim = ClaimRef(7, uuid4())
    monkeypatch.setattr(apps, "database_time", lambda: 12.5)
    monkeypatch.setattr(apps, "told", lambda what, job_id, **more: noted.append((what, job_id, more)))

    def refuse(claim: ClaimRef) -> None:
        raise ClaimLost(job_id=claim.job_id)

    apps.noting(lambda claim: None)(claim)
    with pytest.raises(ClaimLost):
        apps.noting(refuse)(claim)
    assert noted == [("guard", 7, {"claim": str(claim.claim_id), "at": 12.5})]


def just_enough() -> Story:
    """A minute with as much of each as must be, and no more."""
    kinds = list(clients.KINDS)
    jobs = [JobRow(number, kind, "completed") for number, kind in enumerate(kinds)]
    jobs.append(JobRow(100, clients.ENDLESS_KIND, "failed"))
    by_kind = [number for number in range(len(kinds)) for _ in range(COMPLETED_BY_KIND)]
    by_worker = [name for name in ("ada", "bob", "dan") for _ in range(COMPLETED_BY_WORKER)]
    done = [Event(number, job, "completed", at=5.0) for number, job in enumerate(by_kind)]
    done += [Event(1000 + number, 999, "completed", worker=name, at=5.0) for number, name in enumerate(by_worker)]
    done += [Event(2000, number, "completed", worker="ada", at=11.0) for number in range(len(kinds))]  # too late
    lines = [Line("enqueued", who=name) for name, times in ENQUEUED.items() for _ in range(times)]
    lines += [Line("cancel_requested"), *[Line("cancelled")] * (CANCELLED - 1), *[Line("retried")] * RETRIED]
    lines += [Line("start", 100)] * ENDLESS_STARTS + [Line("scratch full")] * FAULTS_MET
    return Story([*lines, Line("well", at=10.0)], jobs, done)


def test_too_little_of_anything_is_told():
    enough = just_enough()
    assert list(too_little(enough, 60)) == []
    assert len(list(too_little(enough, 120))) == len(volumes(enough))
    assert len(list(too_little(Story(), 1))) == len(volumes(enough))


def test_a_fault_that_never_took_effect_is_told():
    tried = [Step(at, name, "x", 0) for at in range(3) for name in ("scratch full", "packets dropped")]
    assert len(list(never_met(just_enough(), tried))) == 1
    assert list(never_met(just_enough(), tried, ("packets dropped",))) == []
    assert list(never_met(just_enough(), tried[:4])) == []
