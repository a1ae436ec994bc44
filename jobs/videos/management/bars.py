"""Bars for jobs that a worker elsewhere runs: drawn from what the database says, and only on a terminal."""

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from rich.console import Console
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from jobs.models import Job, QualityProgress
from jobs.states import QualityStatus
from jobs.videos.shown.texts import facts
from jobs.worker.live_display import bar, bar_width, visible

Row = tuple[Text | ProgressBar, ...]


class Bars:
    def __init__(self, live: Live | None) -> None:
        self._live = live

    def show(self, jobs: Sequence[Job], qualities: dict[int, list[QualityProgress]]) -> None:
        if self._live:
            self._live.update(table(jobs, qualities, self._live.console), refresh=True)


@contextmanager
def bars(*, wanted: bool) -> Iterator[Bars]:
    """On standard error, so that standard output stays the result's. Elsewhere than on a terminal nothing moves."""
    console = Console(stderr=True)
    if not (wanted and sys.stderr.isatty()):
        yield Bars(None)
        return
    with Live(console=console, auto_refresh=False, transient=True) as live:
        yield Bars(live)


def table(jobs: Sequence[Job], qualities: dict[int, list[QualityProgress]], console: Console) -> Table:
    drawn = Table.grid(padding=(0, 2, 0, 0))
    for width in column_widths(console.width):
        drawn.add_column(no_wrap=True, overflow="ellipsis", max_width=width)
    rows = [row for job in jobs for row in rows_of(job, qualities.get(job.pk, []))]
    for row in rows[: max(1, console.height - 1)]:
        drawn.add_row(*row)
    return drawn


def column_widths(terminal: int) -> tuple[int, ...]:
    """At most: name, bar, percent, and what remains for how it goes on."""
    room = max(20, terminal - 4 * 2 - bar_width(terminal) - len("100 %"))
    return room * 2 // 5, bar_width(terminal), len("100 %"), room * 3 // 5


def rows_of(job: Job, qualities: Sequence[QualityProgress]) -> Iterator[Row]:
    yield Text.assemble((f"job {job.pk} ", "bold"), visible(job.subject)), *bar(job.progress), visible(word_for(job))
    for quality in qualities:
        yield visible(f"  {quality.name}"), *bar(quality.progress), visible(word_for_quality(quality))


def word_for(job: Job) -> str:
    return job.step or job.status


def word_for_quality(quality: QualityProgress) -> str:
    told = facts(quality.segments_completed, quality.segments_total, quality.details)
    return told if told and quality.status == QualityStatus.IN_PROGRESS else quality.get_status_display()
