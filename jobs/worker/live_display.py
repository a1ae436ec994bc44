"""What a worker shows on a terminal: a table that moves. Loaded only there: rich takes memory of every process."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from time import monotonic
from types import TracebackType
from typing import Any

from rich.console import Console, Group
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from jobs.handlers.base import Answer, ClaimedJob, ClaimRef, QualityReport, Report
from jobs.progress import eta_seconds
from jobs.sanitise import printable
from jobs.states import QualityStatus
from jobs.worker.child_handle import Assignment
from jobs.worker.display import status_of
from jobs.worker.ledger import NEVER
from jobs.worker.options import WorkerTally
from jobs.worker.overheard import Overheard

REFRESH_EVERY = 0.25
SHOWN_AFTER = 0.3  # seconds: what is over sooner would only flicker
MOST_ROWS = 30


@dataclass
class Shown:
    """A job as it stands on the terminal."""

    job: ClaimedJob
    since: float = field(default_factory=monotonic)
    percent: int = 0
    step: str = ""
    qualities: dict[str, "ShownQuality"] = field(default_factory=dict)


@dataclass
class ShownQuality:
    percent: int = 0
    status: str = ""
    left: float | None = None

    def hear(self, told: QualityReport) -> None:
        self.percent = self.percent if told.progress is None else told.progress
        if told.status:
            self.status = told.status.replace("_", " ")
            self.percent = 100 if told.status == QualityStatus.COMPLETED else self.percent
        eta = (told.details or {}).get("eta")
        self.left = eta if isinstance(eta, (int, float)) and eta > 0 else None


class LiveDisplay:
    """For a terminal: a row for each running job and its qualities below it; what has ended scrolls away above."""

    COLOURS = {"completed": "green", "failed": "red", "pending": "yellow", "cancelled": "magenta"}

    def __init__(self, console: Console | None = None) -> None:
        self.console = console or Console(stderr=True)
        self.live = Live(self, console=self.console, auto_refresh=False, transient=True)
        self.overheard = Overheard(self.said_by_child)
        self.shown: dict[ClaimRef, Shown] = {}
        self.running: Sequence[ClaimRef] = ()
        self.tally = WorkerTally()
        self.drawn_at = NEVER
        self.lines_since = 0
        self.is_closed = False

    def in_child(self) -> None:
        self.overheard.in_child()

    def __enter__(self) -> "LiveDisplay":
        self.live.start()
        self.overheard.start()
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.overheard.stop()
        self.draw(self.live.stop)

    def said_by_child(self, line: str) -> None:
        """What a handler logs or prints stands above the table."""
        self.draw(self.console.print, visible(line.rstrip("\r")), soft_wrap=True)

    def started(self, job: ClaimedJob) -> None:
        self.shown[job.claim] = Shown(job)

    def reported(self, report: Report) -> None:
        shown = self.shown.get(report.claim)
        if shown is None:
            return
        shown.percent = shown.percent if report.progress is None else report.progress
        shown.step = shown.step if report.step is None else report.step
        for told in report.qualities:
            shown.qualities.setdefault(told.name, ShownQuality()).hear(told)

    def finished(self, job: ClaimedJob, answer: Answer) -> None:
        shown = self.shown.pop(job.claim, None) or Shown(job)
        self.running = [claim for claim in self.running if claim != job.claim]
        seconds = monotonic() - shown.since
        if seconds < SHOWN_AFTER and self.lines_since >= MOST_ROWS:
            return  # thousands a second: the count below says enough
        self.lines_since += 1
        status = status_of(answer)
        word = Text("to be retried" if status == "pending" else status, self.COLOURS.get(status, "red"))
        took = Text(f", took {seconds:.1f} s", "dim")
        why = visible(f", attempt {job.attempt} of {job.max_attempts}: {answer.reason}" if answer.reason else "")
        self.draw(self.console.print, Text.assemble(*title_of(job), "  ", word, took, why))

    def draw(self, how: Callable[..., None], *what: object, **options: Any) -> None:
        """A terminal that was closed is no reason to stop in disorder: a signal says that, and how."""
        if self.is_closed:
            return
        try:
            how(*what, **options)
        except OSError:
            self.is_closed = True

    def refresh(self, assignments: Sequence[Assignment], tally: WorkerTally) -> None:
        now = monotonic()
        if now - self.drawn_at < REFRESH_EVERY:
            return
        self.drawn_at, self.lines_since, self.tally = now, 0, tally
        self.running = [assignment.job.claim for assignment in assignments if assignment.began_at is not None]
        self.draw(self.live.refresh)

    def __rich__(self) -> Group:
        """What stands below the lines, drawn anew after each: a job that has ended is in its line and not in a row."""
        return Group(self.table(self.running, monotonic()), self.footer(len(self.running), self.tally))

    def table(self, running: Sequence[ClaimRef], now: float) -> Table:
        """As many rows as there is room for above the footer, a line each: what is too long for it is cut."""
        table = Table.grid(padding=(0, 2, 0, 0))
        for width in column_widths(self.console.width):
            table.add_column(no_wrap=True, overflow="ellipsis", max_width=width)
        room = min(MOST_ROWS, self.console.height - 2)
        for row in islice(self.rows(running, now), max(1, room)):
            table.add_row(*row)
        return table

    def rows(self, running: Sequence[ClaimRef], now: float) -> Iterator[tuple[Text | ProgressBar, ...]]:
        for claim in running:
            shown = self.shown.get(claim)
            if shown and now - shown.since >= SHOWN_AFTER:
                left = eta_seconds(shown.percent, now - shown.since)
                step = shown.step or f"attempt {shown.job.attempt} of {shown.job.max_attempts}"
                yield Text.assemble(*title_of(shown.job)), *bar(shown.percent), visible(step), eta_text(left)
                for name, quality in list(shown.qualities.items()):  # drawn by another thread, too
                    if quality.status == QualityStatus.SKIPPED:
                        continue
                    yield visible("  " + name), *bar(quality.percent), visible(quality.status), eta_text(quality.left)

    @staticmethod
    def footer(running: int, tally: WorkerTally) -> Text:
        return Text(
            f"{running} running, {tally.completed} completed, {tally.failed} failed, {tally.other} other", "dim"
        )


def column_widths(terminal: int) -> tuple[int, ...]:
    """At most: title, bar, percent, step, time left. Numbers keep their room, texts share what remains."""
    between, percent, left = 5 * 2, len("100 %"), len("100:00:00 left")
    room = max(20, terminal - between - percent - left - bar_width(terminal))
    return room * 3 // 5, bar_width(terminal), percent, room * 2 // 5, left


def bar_width(terminal: int) -> int:
    return 30 if terminal >= 110 else 12


def title_of(job: ClaimedJob) -> tuple[Text, ...]:
    return Text(f"job {job.id} ", "bold"), visible(f"{job.kind} {job.subject}".strip())


def bar(percent: int) -> tuple[ProgressBar, Text]:
    return ProgressBar(total=100, completed=percent), Text(f"{percent:>3} %")


def eta_text(seconds: float | None) -> Text:
    if seconds is None:
        return Text("")
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return Text(f"{hours}:{minutes:02}:{rest:02} left" if hours else f"{minutes}:{rest:02} left", "cyan")


def visible(text: str) -> Text:
    """Neither rich's markup nor a terminal's escape sequences are obeyed."""
    return Text(printable(text))
