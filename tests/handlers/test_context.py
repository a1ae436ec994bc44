"""`ctx`: what a handler reports, and how it is told to stop."""

import json
from collections.abc import Callable
from datetime import datetime

import pytest

from jobs.exceptions import Cancelled, ClaimLost, ShuttingDown
from jobs.handlers.base import UNSET, QualityReport
from jobs.handlers.context import Context, Quality, whole_percent
from jobs.handlers.registry import Phase
from jobs.states import PhaseStatus, QualityStatus
from tests.handlers.reporter import Flags, Remembering, a_claimed_job


@pytest.fixture
def reporter() -> Remembering:
    return Remembering()


@pytest.fixture
def flags() -> Flags:
    return Flags()


@pytest.fixture
def ctx(reporter: Remembering, flags: Flags) -> Context:
    return Context(a_claimed_job(payload={"a": 1}, checkpoint={"at": 3}), reporter, flags)


def test_it_knows_its_job(ctx: Context):
    assert (ctx.job_id, ctx.attempt, ctx.payload, ctx.last_checkpoint) == (7, 1, {"a": 1}, {"at": 3})


def test_progress_is_reported_with_the_claim(ctx: Context, reporter: Remembering):
    ctx.progress(41.9, "muxing")
    [report] = reporter.reports
    assert (report.claim.job_id, report.progress, report.step) == (7, 41, "muxing")
    assert report.checkpoint is UNSET


@pytest.mark.parametrize(
    ("said", "reported"), [(-5, 0), (0, 0), (99.99, 99), (100, 100), (250, 100), (float("nan"), 0), (float("inf"), 100)]
)
def test_a_percentage_that_overshoots_does_not_fail_the_job(said, reported):
    assert whole_percent(said) == reported


def test_a_checkpoint_is_reported_and_remembered(ctx: Context, reporter: Remembering):
    ctx.checkpoint({"at": 4})
    assert reporter.reports[0].checkpoint == {"at": 4}
    assert ctx.last_checkpoint == {"at": 4}


def test_what_a_handler_is_told_of_its_job_can_only_be_read(reporter: Remembering, flags: Flags):
    job = a_claimed_job(kind="a.b", queue="slow", subject="video 5", attempt=2, max_attempts=4)
    ctx = Context(job, reporter, flags, worker_name="box-1")
    told = {"kind": "a.b", "queue": "slow", "subject": "video 5", "attempt": 2, "max_attempts": 4}
    for name, value in (told | {"worker_name": "box-1"}).items():
        assert getattr(ctx, name) == value
        with pytest.raises(AttributeError):
            setattr(ctx, name, None)


def test_a_checkpoint_reads_the_same_now_and_in_the_next_attempt(ctx: Context):
    data = {"done": (1, 2), 3: {"x": 1.5}}
    ctx.checkpoint(data)
    assert ctx.last_checkpoint == {"done": [1, 2], "3": {"x": 1.5}}
    data["done"] = ()
    ctx.last_checkpoint["done"].append(3)
    assert ctx.last_checkpoint["done"] == [1, 2]


class OnlyHere(str):
    """A class that the process of the supervisor may not know."""


def test_what_is_sent_is_plain_json(ctx: Context, reporter: Remembering):
    ctx.checkpoint({"at": OnlyHere("x"), "when": datetime(2026, 5, 1)})
    ctx.quality("720p").complete(self=OnlyHere("y"))
    checkpoint, details = reporter.reports[0].checkpoint, reporter.reports[1].qualities[0].details
    assert (checkpoint, details) == ({"at": "x", "when": "2026-05-01 00:00:00"}, {"self": "y"})
    assert details
    assert type(checkpoint["at"]) is type(details["self"]) is str


def test_what_is_too_large_is_sent_so_that_it_can_be_refused(ctx: Context, reporter: Remembering, settings):
    settings.JOBS_MAX_RESULT = 100
    ctx.checkpoint([1] * 1000)
    assert len(json.dumps(reporter.reports[0].checkpoint)) > 100


def test_a_checkpoint_that_was_refused_is_not_remembered(ctx: Context, reporter: Remembering):
    reporter.report_error = ValueError("too large")
    with pytest.raises(ValueError, match="too large"):
        ctx.checkpoint({"at": 4})
    assert ctx.last_checkpoint == {"at": 3}


@pytest.mark.parametrize(
    ("flag", "error"), [("cancelled", Cancelled), ("shutting_down", ShuttingDown), ("lost", ClaimLost)]
)
def test_an_order_to_stop_ends_the_handler_at_its_next_word(ctx, reporter, flags, flag, error):
    ctx.raise_if_cancelled()
    setattr(flags, flag, True)
    for word in (lambda: ctx.progress(1), ctx.raise_if_cancelled, ctx.guard):
        with pytest.raises(error):
            word()
    assert (reporter.reports, reporter.guards) == ([], 0)
    assert ctx.cancelled is flags.cancelled


def test_the_guard_asks_whether_the_claim_holds(ctx: Context, reporter: Remembering):
    ctx.guard()
    assert reporter.guards == 1
    reporter.refusal = ClaimLost(job_id=7)
    with pytest.raises(ClaimLost):
        ctx.guard()


def test_what_earlier_attempts_left_can_be_read(reporter: Remembering, flags: Flags):
    job = a_claimed_job(phase_results={"probe": {"s": 9}}, completed_qualities=["720p"])
    ctx = Context(job, reporter, flags)
    assert (ctx.phase_result("probe"), ctx.has_phase_result("encode")) == ({"s": 9}, False)
    assert list(ctx.completed_qualities) == ["720p"]
    ctx.phase_results().clear()
    assert ctx.has_phase_result("probe")


def test_the_log_of_a_handler_names_its_job_and_worker_and_keeps_its_own_extras(reporter, flags, caplog):
    ctx = Context(a_claimed_job(), reporter, flags, worker_name="box-1")
    with caplog.at_level("INFO"):
        ctx.logger.info("hello", extra={"colour": "red", "job": 99})
    [said] = caplog.records
    assert said.name == "jobs.handler.test.noop"
    assert (said.job, said.attempt, said.kind, said.worker, said.colour) == (7, 1, "test.noop", "box-1", "red")


def test_phases_are_planned_with_their_places_and_weights(ctx: Context, reporter: Remembering):
    ctx.plan_phases([Phase("probe", print), Phase("encode", print, weight=8)])
    told = reporter.reports[0].phases
    assert [(each.name, each.position, each.weight, each.status) for each in told] == [
        ("probe", 0, 1, PhaseStatus.PENDING),
        ("encode", 1, 8, PhaseStatus.PENDING),
    ]


def test_progress_inside_a_phase_is_the_phases_and_moves_the_whole(ctx: Context, reporter: Remembering):
    ctx.plan_phases([Phase("probe", print), Phase("encode", print, weight=3)])
    ctx.start_phase("encode")
    ctx.progress(50, "pass 1")
    report = reporter.reports[-1]
    assert (report.progress, report.step) == (62, "pass 1")
    assert reporter.phases[-1] == ("encode", "running", 50)


def test_a_failed_phase_keeps_the_overall_progress(ctx: Context, reporter: Remembering):
    ctx.plan_phases([Phase("probe", print)])
    ctx.start_phase("probe")
    ctx.progress(50)
    ctx.end_phase(PhaseStatus.FAILED, error=ValueError("broken"))
    report = reporter.reports[-1]
    assert (report.progress, report.phases[0].error) == (None, "ValueError: broken")
    assert not ctx.has_phase_result("probe")


QUALITY_WORDS: dict[str, tuple[Callable[[Quality], None], QualityReport]] = {
    "start": (
        lambda quality: quality.start(40),
        QualityReport("720p", QualityStatus.IN_PROGRESS, 0, 40, 0, error=""),
    ),
    "segments": (lambda quality: quality.segments(10, 40), QualityReport("720p", None, 25, 40, 10)),
    "segments of nobody knows how many": (
        lambda quality: quality.segments(10),
        QualityReport("720p", segments_completed=10),
    ),
    "progress": (lambda quality: quality.progress(12.5), QualityReport("720p", progress=12)),
    "complete": (
        lambda quality: quality.complete(size=9),
        QualityReport("720p", QualityStatus.COMPLETED, 100, details={"size": 9}),
    ),
    "fail": (
        lambda quality: quality.fail(OSError("full")),
        QualityReport("720p", QualityStatus.FAILED, error="OSError: full"),
    ),
    "skip": (
        lambda quality: quality.skip("too large"),
        QualityReport("720p", QualityStatus.SKIPPED, error="too large"),
    ),
}


@pytest.mark.parametrize(("say", "reported"), QUALITY_WORDS.values(), ids=QUALITY_WORDS)
def test_a_quality_reports_on_its_own(ctx: Context, reporter: Remembering, say, reported):
    say(ctx.quality("720p"))
    assert list(reporter.reports[0].qualities) == [reported]
