"""From frames to what people see."""

from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from jobs.handlers.commands import Commands
from jobs.handlers.context import Context
from jobs.videos.transcoding import reporting
from jobs.videos.transcoding.ladder import Rung
from jobs.videos.transcoding.manifest import Rendition
from jobs.videos.transcoding.rendition import Advance
from jobs.videos.transcoding.reporting import ProgressReporter
from jobs.videos.transcoding.source import Source, VideoStream
from jobs.videos.transcoding.task import Task
from tests.handlers.reporter import Flags, Remembering, a_claimed_job

LARGE, SMALL = Rung("720p", 1200, 720, 2800, 22, 31), Rung("360p", 600, 360, 800, 23, 30)  # four to one


class Stage:
    """A video of 100 s, at ten frames a second, in two qualities; time passes when it is told to."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.told, self.now = Remembering(), 50.0
        monkeypatch.setattr(reporting, "monotonic", lambda: self.now)
        source = Source("mov", 100.0, 1, VideoStream(0, "h264", 1200, 720, Fraction(10)))
        task = Task(source, Path("a.mp4"), "a.mp4", Path("."), "attempt", Commands(lambda: None).run)
        ctx = Context(a_claimed_job(), self.told, Flags())
        self.reporter = ProgressReporter(ctx, task, (LARGE, SMALL))

    def quality(self, name: str) -> dict[str, Any]:
        """What stands in its row after all that was said."""
        row: dict[str, Any] = {}
        for report in self.told.reports:
            for each in report.qualities:
                if each.name == name:
                    row |= {key: value for key, value in vars(each).items() if value is not None and key != "details"}
                    row |= each.details or {}
        return row


@pytest.fixture
def stage(monkeypatch: pytest.MonkeyPatch) -> Stage:
    return Stage(monkeypatch)


def test_the_whole_counts_by_pixels(stage: Stage):
    stage.reporter.advanced(SMALL, Advance(1000))
    assert stage.told.progress[-1] == 19  # a fifth of all pixels, of 99 per cent
    stage.reporter.advanced(LARGE, Advance(500))
    assert stage.told.progress[-1] == 59


def test_a_quality_says_percent_segments_speed_and_time_left(stage: Stage):
    stage.reporter.started(LARGE, 17)
    stage.reporter.advanced(LARGE, Advance(0))
    stage.now += 10
    stage.reporter.advanced(LARGE, Advance(250, fps=25.04, speed=2.504))
    row = stage.quality("720p")
    assert (row["progress"], row["segments_completed"], row["segments_total"]) == (25, 4, 17)
    assert (row["fps"], row["speed"], row["eta"]) == (25.0, 2.5, 30)


def test_what_an_earlier_attempt_did_makes_no_one_hope_for_its_pace(stage: Stage):
    stage.reporter.advanced(LARGE, Advance(700))
    stage.now += 10
    stage.reporter.advanced(LARGE, Advance(800))
    assert stage.quality("720p")["eta"] == 20


def test_it_never_goes_back_and_says_done_only_when_it_is(stage: Stage):
    for frames in (500, 400, 1200):
        stage.reporter.advanced(LARGE, Advance(frames))
    percents = [each.progress for report in stage.told.reports for each in report.qualities]
    assert percents == [50, 50, 99]
    stage.reporter.completed(LARGE, Rendition("720p", 1200, 720, "libx264", 2800))
    assert stage.quality("720p")["progress"] == 100
    assert stage.quality("720p")["encoder"] == "libx264"


def test_one_that_failed_no_longer_holds_up_the_whole(stage: Stage):
    stage.reporter.failed(LARGE, RuntimeError("no"))
    stage.reporter.advanced(SMALL, Advance(1000))
    assert stage.told.progress[-1] == 99
    assert stage.quality("720p")["error"] == "RuntimeError: no"
