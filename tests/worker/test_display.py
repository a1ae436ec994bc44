"""What a worker shows: how far its jobs are and how they ended, and texts that others wrote, never obeyed."""

import io
import json
import re
from collections.abc import Callable, Iterator

import pytest
from rich.console import Console

from jobs.exceptions import ClaimLost
from jobs.handlers.base import Answer, ClaimedJob, QualityReport, Report
from jobs.logs import JsonFormatter
from jobs.states import QualityStatus, Status
from jobs.worker.display import MOST_LINES, Display, LogDisplay
from jobs.worker.live_display import MOST_ROWS, REFRESH_EVERY, LiveDisplay
from jobs.worker.options import WorkerTally
from tests.handlers.reporter import a_claimed_job
from tests.worker.household import Household, give

HOSTILE = "\x1b]0;title\x07 \x1b[2J [red]not red[/red] [/] \u202e line\nbreak"
COLOURS = re.compile(r"\x1b\[[0-9;]*m")


@pytest.fixture
def terminal() -> io.StringIO:
    return io.StringIO()


@pytest.fixture
def live(terminal: io.StringIO) -> Iterator[LiveDisplay]:
    with LiveDisplay(Console(file=terminal, force_terminal=True, width=300)) as display:
        yield display


@pytest.fixture
def drawn(live: LiveDisplay, terminal: io.StringIO, household: Household) -> Callable[..., str]:
    """What the terminal shows when these jobs run: by then, they have run for so many seconds."""

    def draw(*jobs: ClaimedJob, seconds: float = 60) -> str:
        child = household.child()
        assignments = [give(child, job) for job in jobs]
        for assignment in assignments:
            child.board.begin(assignment.place)
        let_pass(live, seconds)
        terminal.truncate(0)
        live.refresh(assignments, WorkerTally(jobs=6, completed=3, failed=2, other=1))
        return COLOURS.sub("", terminal.getvalue())

    return draw


def let_pass(live: LiveDisplay, seconds: float) -> None:
    """What is shown is so many seconds older; the terminal may be drawn anew."""
    live.drawn_at -= REFRESH_EVERY
    for shown in live.shown.values():
        shown.since -= seconds


def started(display: Display, **options: object) -> ClaimedJob:
    job = a_claimed_job(**options)
    display.started(job)
    return job


def test_a_terminal_shows_hostile_texts_and_does_not_obey_them(live: LiveDisplay, drawn):
    job = started(live, subject=f"subject {HOSTILE}")
    live.reported(Report(job.claim, progress=5, step=f"step {HOSTILE}"))
    live.reported(Report(job.claim, qualities=[QualityReport(f"quality {HOSTILE}", QualityStatus.IN_PROGRESS)]))
    shown = drawn(job)
    for beginning in ("subject", "step", "quality"):
        assert rf"{beginning} \x1b]0;title\x07 \x1b[2J [red]not red[/red] [/] \u202e line\nbreak" in shown
    assert "\x1b]0;" not in shown
    assert "\x1b[2J" not in shown


@pytest.mark.parametrize(
    ("percent", "seconds", "eta"),
    [
        (25, 60, r"25 %.* 3:0\d left"),
        (10, 1200, r"10 %.* 3:00:\d\d left"),
        (100, 5, "100 %.* 0:00 left"),
        (0, 60, "0 % "),
    ],
)
def test_a_terminal_shows_how_far_a_job_is_and_how_long_the_rest_takes(live: LiveDisplay, drawn, percent, seconds, eta):
    job = started(live)
    live.reported(Report(job.claim, progress=percent))
    shown = drawn(job, seconds=seconds)
    assert re.search(eta, shown)
    assert ("left" in shown) == ("left" in eta)


def test_a_report_changes_what_it_mentions(live: LiveDisplay, drawn):
    job = started(live)
    live.reported(Report(job.claim, progress=40, step="encoding"))
    live.reported(Report(job.claim, qualities=[QualityReport("720p", QualityStatus.IN_PROGRESS, progress=70)]))
    live.reported(Report(job.claim, qualities=[QualityReport("360p", QualityStatus.COMPLETED)]))
    shown = drawn(job)
    assert re.search(r"job 7 test.noop .* 40 % .*encoding", shown)
    assert re.search(r"720p .* 70 % .*in progress", shown)
    assert re.search(r"360p .* 100 % .*completed", shown)


def test_a_quality_shows_how_far_it_is_and_its_own_time_left(live: LiveDisplay, drawn):
    job = started(live)
    told = QualityReport("720p", QualityStatus.IN_PROGRESS, progress=40, details={"eta": 75, "fps": 24.0})
    live.reported(Report(job.claim, qualities=[told]))
    assert re.search(r"720p .* 40 % .*in progress .*1:15 left", drawn(job))
    live.reported(Report(job.claim, qualities=[QualityReport("720p", QualityStatus.COMPLETED, details={"eta": 0})]))
    let_pass(live, 0)
    assert re.search(r"720p .*100 % .*completed *$", drawn(job), re.MULTILINE)


def test_a_quality_that_is_not_made_takes_no_row(live: LiveDisplay, drawn):
    job = started(live)
    live.reported(Report(job.claim, qualities=[QualityReport("2160p", QualityStatus.SKIPPED)]))
    assert "2160p" not in drawn(job)


def test_a_job_that_has_said_nothing_is_shown_with_its_attempt(live: LiveDisplay, drawn):
    assert "attempt 2 of 3" in drawn(started(live, attempt=2))


def test_what_has_just_begun_does_not_flicker_but_is_counted(live: LiveDisplay, drawn):
    shown = drawn(started(live), seconds=0)
    assert "test.noop" not in shown
    assert "1 running, 3 completed, 2 failed, 1 other" in shown


def test_of_very_many_jobs_as_many_as_fit_are_shown_and_all_are_counted(live: LiveDisplay, drawn):
    just_begun = [a_claimed_job() for _ in range(MOST_ROWS)]
    jobs = [started(live) for _ in range(MOST_ROWS + 10)]
    shown = drawn(*just_begun, *jobs)
    assert shown.count("test.noop") == live.console.height - 2
    assert f"{2 * MOST_ROWS + 10} running" in shown


ENDS = [
    (Answer(a_claimed_job().claim, Status.COMPLETED), "completed"),
    (Answer(a_claimed_job().claim, Status.FAILED), "failed"),
    (Answer(a_claimed_job().claim, Status.CANCELLED), "cancelled"),
    (Answer(a_claimed_job().claim, refused=ClaimLost(job_id=7)), "claim_lost"),
    (Answer(a_claimed_job().claim), "claim_lost"),
]


@pytest.mark.parametrize(("answer", "word"), [*ENDS, (Answer(a_claimed_job().claim, Status.PENDING), "to be retried")])
def test_a_terminal_shows_how_a_job_ended_and_how_long_it_took(live: LiveDisplay, terminal: io.StringIO, answer, word):
    job = started(live, subject="clip.mp4")
    let_pass(live, 2.5)
    live.finished(job, answer)
    assert f"job 7 test.noop clip.mp4  {word}, took 2.5 s" in COLOURS.sub("", terminal.getvalue())


def test_a_terminal_shows_why_a_job_failed_and_when_it_is_tried_again(live: LiveDisplay, terminal: io.StringIO):
    live.finished(job := started(live), Answer(job.claim, Status.PENDING, reason=f"in 10.5 s: boom {HOSTILE}"))
    live.finished(job, Answer(job.claim, Status.FAILED, reason="ValueError: boom"))
    shown = COLOURS.sub("", terminal.getvalue())
    assert r"to be retried, took 0.0 s, attempt 1 of 3: in 10.5 s: boom \x1b]0;title\x07" in shown
    assert "failed, took 0.0 s, attempt 1 of 3: ValueError: boom" in shown
    assert "\x1b]0;" not in shown


def test_a_log_says_why_a_job_failed_and_when_it_is_tried_again(caplog: pytest.LogCaptureFixture):
    job, display = a_claimed_job(), LogDisplay()
    display.finished(job, Answer(job.claim, Status.PENDING, reason=f"in 10.5 s: boom {HOSTILE}"))
    display.finished(job, Answer(job.claim, Status.FAILED, reason="ValueError: boom"))
    retried, failed = caplog.records
    assert "status=pending attempt=1 max_attempts=3 reason='in 10.5 s: boom \\x1b]0;title" in retried.getMessage()
    assert failed.getMessage().endswith("status=failed attempt=1 max_attempts=3 reason='ValueError: boom'")
    assert (retried.levelname, failed.levelname) == ("WARNING", "ERROR")
    assert "\n" not in retried.getMessage()


def test_a_log_tells_an_outcome_that_was_not_written_from_a_lost_claim(caplog: pytest.LogCaptureFixture):
    LogDisplay().finished(job := a_claimed_job(), Answer(job.claim, reason="this row is cursed"))
    (told,) = caplog.records
    assert told.getMessage().endswith("status=not_written attempt=1 max_attempts=3 reason='this row is cursed'")


def test_a_job_that_has_ended_leaves_the_table_at_once(live: LiveDisplay, drawn, terminal: io.StringIO):
    ended, other = started(live, subject="ended"), started(live, subject="other")
    assert "ended" in drawn(ended, other)
    before = len(terminal.getvalue())
    live.finished(ended, Answer(ended.claim, Status.COMPLETED))
    shown = COLOURS.sub("", terminal.getvalue()[before:])
    assert shown.count("test.noop ended") == 1  # the line that says so
    assert "test.noop other" in shown
    assert "1 running" in shown


@pytest.mark.parametrize("width", [60, 80, 120])
def test_each_row_fits_into_one_line_and_the_numbers_stay(live: LiveDisplay, drawn, width):
    live.console.width = width
    job = started(live, subject="a long name " * 20)
    live.reported(Report(job.claim, progress=25, step="a long step " * 20))
    [row, _] = drawn(job).splitlines()
    assert re.search(r" 25 %  a long.*…  3:0\d left", row)


def test_thousands_of_short_jobs_print_few_lines_and_a_long_one_among_them_is_seen(
    live: LiveDisplay, terminal: io.StringIO
):
    long = started(live, subject="the long one")
    let_pass(live, 60)
    for _ in range(3000):
        job = started(live)
        live.finished(job, Answer(job.claim, Status.COMPLETED))
    live.finished(long, Answer(long.claim, Status.COMPLETED))
    lines = terminal.getvalue()
    assert lines.count("test.noop") <= MOST_ROWS + 1
    assert "the long one" in lines
    assert live.shown == {}


def test_a_terminal_is_drawn_a_few_times_a_second_and_not_at_every_word(live: LiveDisplay, terminal: io.StringIO):
    live.refresh([], WorkerTally())
    before = len(terminal.getvalue())
    for _ in range(100):
        live.drawn_at += 0.001  # not even if the machine is so slow that the time has passed
        live.refresh([], WorkerTally())
    assert len(terminal.getvalue()) == before


@pytest.mark.parametrize(("answer", "word"), [*ENDS, (Answer(a_claimed_job().claim, Status.PENDING), "pending")])
def test_a_log_has_a_line_for_each_event_and_a_line_stays_one_line(caplog: pytest.LogCaptureFixture, answer, word):
    caplog.set_level("DEBUG", "jobs.worker")
    with LogDisplay() as display:
        job = started(display, subject=HOSTILE)
        display.reported(Report(job.claim, progress=5, step=HOSTILE))
        display.refresh([], WorkerTally())
        display.finished(job, answer)
    messages = [record.getMessage() for record in caplog.records]
    assert [message.split()[0] for message in messages] == ["started", "progress", "finished"]
    assert messages[2].endswith(f"status={word}")
    assert not any("\n" in message or "\x1b" in message for message in messages)


@pytest.mark.parametrize(("answer", "word"), [*ENDS[:-1], (ENDS[-1][0], "not_written")])
def test_in_json_a_line_has_the_job_and_its_end_as_keys(caplog: pytest.LogCaptureFixture, answer, word):
    caplog.set_level("DEBUG", "jobs.worker")
    with LogDisplay() as display:
        job = started(display)
        display.reported(Report(job.claim, progress=5, step="half"))
        display.finished(job, answer._replace(reason="boom"))
    started_line, progress, finished = (json.loads(JsonFormatter().format(record)) for record in caplog.records)
    about = {"job": job.id, "kind": job.kind, "attempt": 1}
    assert started_line.items() >= {"message": "started", "queue": job.queue, **about}.items()
    assert progress.items() >= {"message": "progress", "job": job.id, "percent": 5, "step": "half"}.items()
    assert finished.items() >= {"message": "finished", "status": word, "reason": "boom", **about}.items()


def test_of_thousands_that_go_well_a_log_tells_in_a_line_and_each_that_fails_has_its_own(
    caplog: pytest.LogCaptureFixture,
):
    caplog.set_level("INFO", "jobs.worker")
    with LogDisplay() as display:
        jobs = [started(display) for _ in range(MOST_LINES + 10)]
        for job in jobs:
            display.finished(job, Answer(job.claim, Status.COMPLETED))
        display.finished(jobs[0], Answer(jobs[0].claim, Status.FAILED, reason="boom"))
        assert len(caplog.records) == MOST_LINES + 1
        assert "reason='boom'" in caplog.messages[-1]
        display.refresh([], WorkerTally())
        told = [f"started jobs=10 kind={job.kind}", f"finished jobs={len(jobs)} kind={job.kind} status=completed"]
        assert caplog.messages[-2:] == told
        together = json.loads(JsonFormatter().format(caplog.records[-1]))
        assert together.items() >= {"message": "finished", "jobs": len(jobs), "status": "completed"}.items()
        started(display)
        assert caplog.messages[-1].startswith("started job=")  # there is room again
    assert len(caplog.records) == MOST_LINES + 4
