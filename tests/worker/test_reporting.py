"""Reports on their way from a handler to its supervisor: what is told, what is asked, and none past a lost claim."""

from collections.abc import Callable
from typing import Any

import pytest

from jobs.exceptions import ClaimLost, InvalidInput
from jobs.handlers.base import UNSET, ClaimRef, PhaseReport, QualityReport, Report
from jobs.handlers.context import Context
from jobs.handlers.registry import Phase
from jobs.states import PhaseStatus, QualityStatus
from jobs.worker import reporting
from jobs.worker.attempt import Attempt
from jobs.worker.leases import lease_clock
from jobs.worker.messages import Asked, Reason, Reply, Word
from jobs.worker.reporting import AttemptReporter, Digest, News, Replies
from tests.concurrency.threads import wait_until
from tests.handlers.programs import Running
from tests.handlers.reporter import a_claimed_job


class Desk:
    """The supervisor as a handler meets it: hears every word, and answers at once what it is asked."""

    def __init__(self) -> None:
        self.words: list[Word] = []
        self.replies = Replies()
        self.refusal: Exception | None = None
        self.lease_ends_at = float("inf")
        self.is_away = False

    def hear(self, word: Word) -> None:
        self.words.append(word)
        if isinstance(word, Asked) and not self.is_away:
            self.replies.arrived(Reply(word.number, self.refusal))

    @property
    def heard(self) -> list[str]:
        return [type(word).__name__ for word in self.words]


@pytest.fixture
def attempt() -> Attempt:
    return Attempt(a_claimed_job())


@pytest.fixture
def desk() -> Desk:
    return Desk()


@pytest.fixture
def reporter(attempt: Attempt, desk: Desk) -> AttemptReporter:
    return AttemptReporter(attempt, desk.hear, desk.replies, lambda: desk.lease_ends_at)


@pytest.fixture
def ctx(attempt: Attempt, reporter: AttemptReporter) -> Context:
    return Context(attempt.job, reporter, attempt)


def test_a_number_that_moved_is_told_and_nobody_waits(ctx: Context, desk: Desk):
    ctx.progress(5, "reading")
    ctx.quality("720p").segments(3, total=9)
    assert desk.heard == ["Told", "Told"]


def test_a_quality_that_changes_its_status_is_told(ctx: Context, desk: Desk):
    ctx.quality("720p").start(segments=9)
    ctx.quality("720p").complete(bytes=17)
    assert desk.heard == ["Told", "Told"]


def test_what_a_handler_builds_on_is_asked_to_be_stored_before_it_goes_on(ctx: Context, desk: Desk):
    ctx.checkpoint({"at": 7})
    ctx.checkpoint(None)
    ctx.plan_phases([Phase("encode", lambda ctx: None)])
    ctx.start_phase("encode")
    assert desk.heard == ["Asked"] * 4
    ctx.progress(50)
    assert desk.heard[4:] == ["Told"]
    ctx.end_phase(PhaseStatus.COMPLETED, result="encoded")
    assert desk.heard[5:] == ["Asked"]


def test_who_may_have_been_away_for_longer_than_the_lease_asks_once_before_it_goes_on(ctx: Context, desk: Desk):
    desk.lease_ends_at = lease_clock() - 1
    ctx.progress(5)
    ctx.quality("720p").segments(3)
    assert desk.heard == ["Asked", "Told", "Told"]
    assert desk.words[0] == Asked(1, ctx._job.claim, None)
    desk.lease_ends_at = lease_clock()  # it was renewed, and is over again
    ctx.progress(6)
    assert desk.heard[3:] == ["Asked", "Told"]


def test_who_was_away_and_lost_its_claim_says_nothing_more(ctx: Context, desk: Desk, attempt: Attempt):
    desk.lease_ends_at, desk.refusal = lease_clock() - 1, ClaimLost(job_id=7)
    with pytest.raises(ClaimLost):
        ctx.progress(5)
    assert attempt.lost
    assert desk.heard == ["Asked"]


def test_a_handler_goes_on_through_an_outage_that_outlasts_its_lease(ctx: Context, desk: Desk, monkeypatch):
    monkeypatch.setattr(reporting, "DOUBT", 0.01)
    desk.lease_ends_at, desk.is_away = lease_clock() - 1, True
    ctx.progress(5)
    assert desk.heard == ["Asked", "Told"]


def test_the_guard_asks_whether_the_claim_holds(ctx: Context, desk: Desk, attempt: Attempt):
    ctx.guard()
    assert desk.words == [Asked(1, attempt.job.claim, None)]


Call = Callable[[Context], None]
CALLS: list[Call] = [lambda ctx: ctx.checkpoint(1), lambda ctx: ctx.guard()]


@pytest.mark.parametrize("call", CALLS)
def test_a_claim_that_is_found_lost_stops_the_handler_and_nothing_is_said_after_it(
    ctx: Context, reporter: AttemptReporter, desk: Desk, attempt: Attempt, call: Call
):
    desk.refusal = ClaimLost(job_id=attempt.job.id)
    with pytest.raises(ClaimLost):
        call(ctx)
    assert attempt.lost
    words = len(desk.words)
    for say in (call, lambda ctx: ctx.progress(1), lambda ctx: reporter.guard()):
        with pytest.raises(ClaimLost):
            say(ctx)
    with pytest.raises(ClaimLost):
        reporter.report(Report(attempt.job.claim, progress=1))
    assert len(desk.words) == words


@pytest.mark.parametrize("refusal", [InvalidInput("too large")])
@pytest.mark.parametrize("call", CALLS)
def test_another_refusal_is_the_handlers_to_deal_with(ctx: Context, desk: Desk, attempt: Attempt, refusal, call: Call):
    desk.refusal = refusal
    with pytest.raises(type(refusal)):
        call(ctx)
    assert attempt.reason is None
    desk.refusal = None
    call(ctx)


@pytest.mark.parametrize("call", [*CALLS, lambda ctx: ctx.progress(1)])
def test_a_thread_that_outlives_its_handler_says_nothing_more(ctx: Context, desk: Desk, attempt: Attempt, call: Call):
    attempt.ended = True
    with pytest.raises(ClaimLost):
        call(ctx)
    assert desk.words == []


class CannotTravel(dict[str, Any]):
    def __reduce__(self) -> str:
        raise RuntimeError("not through a pipe")


@pytest.mark.parametrize(
    "what",
    [
        {"checkpoint": CannotTravel()},
        {"phases": [PhaseReport("encode", 0, PhaseStatus.COMPLETED, result=CannotTravel())]},
        {"qualities": [QualityReport("720p", details=CannotTravel(codec="x"))]},
    ],
)
def test_what_cannot_travel_is_told_to_the_handler_and_not_to_the_process_that_carries_it(
    reporter: AttemptReporter, desk: Desk, attempt: Attempt, what: dict[str, Any]
):
    with pytest.raises(InvalidInput, match="This cannot be stored as JSON: not through a pipe"):
        reporter.report(Report(attempt.job.claim, **what))
    assert desk.words == []


def test_each_of_those_who_wait_gets_the_reply_to_its_own_question():
    replies = Replies()
    asked: list[Asked] = []

    def ask() -> Exception | None:
        attempt = Attempt(a_claimed_job())
        try:
            AttemptReporter(attempt, asked.append, replies, lambda: 0.0).guard()  # type: ignore[arg-type]
        except InvalidInput as refused:
            return refused
        return None

    waiting: list[Running] = []
    while len(waiting) < 3:
        waiting.append(Running(ask))
        wait_until(lambda: len(asked) == len(waiting))
    refused = {word.number: InvalidInput(f"number {word.number}") for word in asked}
    for word in reversed(asked):
        replies.arrived(Reply(word.number, refused[word.number]))
    assert [each.ended().result for each in waiting] == [refused[word.number] for word in asked]


def test_a_report_made_in_a_thread_of_the_handlers_own_is_stopped_by_a_lost_claim_too(
    reporter: AttemptReporter, attempt: Attempt, desk: Desk
):
    attempt.reason = Reason.LOST
    lost = Running(lambda: reporter.report(Report(attempt.job.claim, progress=1))).ended()
    assert isinstance(lost.error, ClaimLost)
    assert desk.words == []


CLAIM = ClaimRef(1, a_claimed_job().claim.claim_id)


def report(**what: Any) -> Report:
    return Report(CLAIM, **what)


def test_news_is_what_changed_its_status_and_only_the_first_time_it_is_told():
    news = News()
    started = report(phases=[PhaseReport("encode", 0, PhaseStatus.RUNNING)])
    further = report(phases=[PhaseReport("encode", 0, PhaseStatus.RUNNING, 50)])
    done = report(phases=[PhaseReport("encode", 0, PhaseStatus.COMPLETED, 100)])
    assert [news.is_in(each) for each in (started, further, done, done, started)] == [True, False, True, False, True]


def test_a_quality_is_news_when_it_changes_its_status_and_not_when_it_merely_moves():
    news = News()
    reports = [
        QualityReport("720p", QualityStatus.IN_PROGRESS),
        QualityReport("720p", segments_completed=3),
        QualityReport("1080p", QualityStatus.IN_PROGRESS),
        QualityReport("720p", QualityStatus.IN_PROGRESS, segments_completed=4),
    ]
    assert [news.is_in(report(qualities=[each])) for each in reports] == [True, False, True, False]


def merged(*reports: Report) -> Report:
    digest = Digest()
    for each in reports:
        digest.add(each)
    return digest.report()


def test_a_merged_report_says_what_both_said_the_newer_word_winning():
    started = QualityReport("a", QualityStatus.IN_PROGRESS, segments_total=9, details={"codec": "x"})
    further = QualityReport("a", segments_completed=4, details={"bytes": 1})
    other = QualityReport("b", QualityStatus.SKIPPED)
    both = merged(
        report(progress=10, step="one", phases=[PhaseReport("p", 0, PhaseStatus.RUNNING)], qualities=[started, other]),
        report(
            progress=20, phases=[PhaseReport("p", 0, PhaseStatus.COMPLETED, 100)], qualities=[further], checkpoint=3
        ),
    )
    whole = QualityReport(
        "a", QualityStatus.IN_PROGRESS, segments_total=9, segments_completed=4, details={"codec": "x", "bytes": 1}
    )
    assert both == report(
        progress=20,
        step="one",
        phases=[PhaseReport("p", 0, PhaseStatus.COMPLETED, 100)],
        qualities=[whole, other],
        checkpoint=3,
    )
    assert merged(both, report(step="two")).checkpoint == 3
    assert merged(report(progress=1), report(progress=2)).checkpoint is UNSET
    assert merged(both) is both


def test_to_add_a_report_costs_as_much_as_it_holds_however_many_qualities_are_known():
    def looks_taken(qualities: int) -> int:
        """How many reports of a quality are read while a hundred are added to so many."""
        digest, reads = Digest(), []

        class Watched(QualityReport):
            def __getattribute__(self, name: str) -> Any:
                reads.append(name)
                return super().__getattribute__(name)

        digest.add(report(qualities=[Watched(f"q{number}") for number in range(qualities)]))
        reads.clear()
        for _ in range(100):
            digest.add(report(qualities=[QualityReport("q0", segments_completed=1)]))
        return len(reads)

    assert looks_taken(500) == looks_taken(5)
