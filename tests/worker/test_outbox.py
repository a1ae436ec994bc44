"""A child's outbox: many words, few sendings, none lost, and the last word of an attempt last."""

from collections.abc import Iterator
from multiprocessing import Pipe
from multiprocessing.connection import Connection

import pytest

from jobs.handlers.base import ClaimRef, Outcome, QualityReport, Report
from jobs.states import QualityStatus, Verdict
from jobs.worker import outbox as outbox_module
from jobs.worker.messages import Asked, Ended, Told, Word, unpacked
from jobs.worker.outbox import Outbox
from tests.handlers.reporter import a_claimed_job

FIRST, SECOND = a_claimed_job().claim, a_claimed_job().claim


class Supervisor:
    """The other end of the pipe."""

    def __init__(self, pipe: Connection) -> None:
        self.pipe = pipe
        self.bundles: list[list[Word]] = []

    def hears(self) -> list[Word]:
        """The next bundle."""
        assert self.pipe.poll(20), "nothing was said"
        self.bundles.append(unpacked(self.pipe.recv()))
        return self.bundles[-1]


def told(claim: ClaimRef, percent: int, *qualities: QualityReport) -> Told:
    return Told(Report(claim, progress=percent, phases=[], qualities=list(qualities)))


def ended(claim: ClaimRef) -> Ended:
    return Ended(claim, Outcome.completed(claim), 0.1)


@pytest.fixture
def ends() -> Iterator[tuple[Connection, Connection]]:
    ours, theirs = Pipe()
    with ours, theirs:
        yield ours, theirs


@pytest.fixture
def supervisor(ends: tuple[Connection, Connection]) -> Supervisor:
    return Supervisor(ends[0])


@pytest.fixture
def outbox(ends: tuple[Connection, Connection]) -> Iterator[Outbox]:
    """Open, and one that lets wait what may wait."""
    outbox = Outbox(ends[1], is_busy=lambda: False, on_broken=lambda: None)
    outbox.start()
    yield outbox
    outbox.close()


@pytest.fixture
def _seldom(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outbox_module, "SEND_AT_MOST_EVERY", 3600)


seldom = pytest.mark.usefixtures("_seldom")


@seldom
def test_of_thousands_of_reports_the_first_goes_at_once_and_the_rest_as_one(outbox: Outbox, supervisor: Supervisor):
    outbox.say(told(FIRST, 0))
    assert supervisor.hears() == [told(FIRST, 0)]
    for percent in range(1, 5000):
        outbox.say(told(FIRST, percent))
    outbox.say(ended(FIRST))
    assert supervisor.hears() == [told(FIRST, 4999), ended(FIRST)]


@seldom
@pytest.mark.parametrize("word", [ended(FIRST), Asked(1, FIRST)])
def test_what_was_said_before_comes_before_it_and_what_others_said_may_wait(outbox: Outbox, supervisor, word: Word):
    outbox.say(told(SECOND, 1))
    supervisor.hears()
    outbox.say(told(SECOND, 2))
    outbox.say(told(FIRST, 5))
    outbox.say(word)
    heard = supervisor.hears()
    while word not in heard:
        heard += supervisor.hears()
    assert heard == [told(FIRST, 5), word]
    outbox.close()
    assert supervisor.hears() == [told(SECOND, 2)]


@seldom
def test_words_keep_their_order(outbox: Outbox, supervisor: Supervisor):
    words: list[Word] = [Asked(1, FIRST), ended(SECOND), Asked(2, FIRST), ended(FIRST)]
    for word in words:
        outbox.say(word)
    heard = supervisor.hears()
    while len(heard) < len(words):
        heard += supervisor.hears()
    assert heard == words


@seldom
def test_a_change_of_status_goes_at_once_with_what_was_kept(outbox: Outbox, supervisor: Supervisor):
    outbox.say(told(FIRST, 1))
    supervisor.hears()
    outbox.say(told(FIRST, 2))
    quality = QualityReport("720p", QualityStatus.IN_PROGRESS)
    outbox.say(Told(Report(FIRST, qualities=[quality])))
    assert supervisor.hears() == [told(FIRST, 2, quality)]


def test_what_was_kept_is_sent_when_its_time_has_come(outbox: Outbox, supervisor: Supervisor):
    for percent in (1, 2):
        outbox.say(told(FIRST, percent))
    heard = supervisor.hears()
    while told(FIRST, 2) not in heard:
        heard += supervisor.hears()


@seldom
def test_closing_it_sends_what_is_left(outbox: Outbox, supervisor: Supervisor):
    outbox.say(told(FIRST, 1))
    supervisor.hears()
    outbox.say(told(FIRST, 2))
    outbox.close()
    assert supervisor.hears() == [told(FIRST, 2)]


def test_it_remembers_nothing_of_attempts_that_ended(outbox: Outbox, supervisor: Supervisor):
    outbox.say(Told(Report(FIRST, qualities=[QualityReport("720p", QualityStatus.IN_PROGRESS)])))
    outbox.say(ended(FIRST))
    while ended(FIRST) not in supervisor.hears():
        pass
    outbox.close()
    assert (outbox._kept, outbox._news) == ({}, {})


class Busy:
    """A child that has more to do until the test says that it has not."""

    def __init__(self, ends: tuple[Connection, Connection]) -> None:
        self.more = True
        self.outbox = Outbox(ends[1], is_busy=lambda: self.more, on_broken=lambda: None)


@pytest.fixture
def busy(ends: tuple[Connection, Connection], monkeypatch: pytest.MonkeyPatch) -> Iterator[Busy]:
    monkeypatch.setattr(outbox_module, "GATHER", 3600)
    busy = Busy(ends)
    busy.outbox.start()
    yield busy
    busy.outbox.close()


def test_while_there_is_more_to_do_the_ends_of_attempts_are_told_together(busy: Busy, supervisor: Supervisor):
    for claim in (FIRST, SECOND):
        busy.outbox.say(ended(claim))
    assert not supervisor.pipe.poll(0.05)
    busy.outbox.close()
    assert supervisor.hears() == [ended(FIRST), ended(SECOND)]


def test_who_waits_for_a_reply_does_not_wait_for_others_to_end(busy: Busy, supervisor: Supervisor):
    busy.outbox.say(ended(SECOND))
    busy.outbox.say(Asked(1, FIRST))
    assert supervisor.hears() == [ended(SECOND), Asked(1, FIRST)]


def test_when_there_is_no_more_to_do_an_end_is_told_at_once(busy: Busy, supervisor: Supervisor):
    busy.more = False
    busy.outbox.say(ended(FIRST))
    assert supervisor.hears() == [ended(FIRST)]


def test_when_the_supervisor_is_gone_it_ends_quietly_and_nobody_who_speaks_is_held_up(outbox: Outbox, ends):
    ends[0].close()
    outbox.say(ended(FIRST))
    outbox.join(20)
    assert not outbox.is_alive()
    outbox.say(ended(SECOND))


class Unspeakable:
    def __reduce__(self) -> str:
        raise RuntimeError("not even a name")


def test_what_cannot_be_passed_on_is_left_out_and_the_rest_is_heard(outbox: Outbox, supervisor: Supervisor):
    outbox.say(Told(Report(FIRST, step=Unspeakable())))  # type: ignore[arg-type]  # as a handler might
    outbox.say(ended(FIRST))
    assert supervisor.hears() == [ended(FIRST)]


def test_an_outcome_that_cannot_be_passed_on_becomes_a_failure_that_says_why(outbox: Outbox, supervisor: Supervisor):
    outbox.say(Ended(FIRST, Outcome.completed(FIRST, Unspeakable()), 0.0))
    [word] = supervisor.hears()
    assert isinstance(word, Ended)
    assert word.outcome
    assert word.outcome.verdict == Verdict.FAILED
    assert "not even a name" in word.outcome.error
