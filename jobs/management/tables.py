"""Tables that fit the terminal, drawn with rich. Cells are text, never markup: what users stored stays what it is."""

import os
import shutil
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from io import StringIO

from rich.cells import cell_len
from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from jobs.management.widths import Wish, fit
from jobs.sanitise import printable

NARROWEST = 40
LONGEST_CELL = 500
GAP = 2
STYLES = {
    "completed": "green", "failed": "red", "cancelled": "magenta", "running": "cyan", "claimed": "cyan",
    "in_progress": "cyan", "retrying": "yellow", "expired": "bold red", "stalled": "bold yellow",
    "interrupted": "yellow", "busy": "cyan", "idle": "green", "offline": "red", "disabled": "magenta",
}  # fmt: skip

Cell = str | int | None | Text


@dataclass(frozen=True)
class Column:
    title: str
    right: bool = False
    cut: bool = False  # gives way when the terminal is too narrow for all


def table(columns: Sequence[Column], rows: Iterable[Sequence[Cell]]) -> Table:
    """As wide as the terminal at most. A column in which no row has anything is left out."""
    cells = [[cell(value) for value in row] for row in rows]
    used = [place for place in range(len(columns)) if any(row[place].plain for row in cells)]
    wishes = [
        Wish(widest(row[place] for row in cells), len(columns[place].title), columns[place].cut) for place in used
    ]
    widths = dict(zip(used, fit(wishes, terminal_width(), GAP), strict=False)) if used else {}
    drawn = Table(box=None, pad_edge=False, padding=(0, GAP, 0, 0), header_style="bold")
    for place, width in widths.items():
        title = Text(columns[place].title, no_wrap=True, overflow="ellipsis")
        drawn.add_column(title, justify="right" if columns[place].right else "left", width=width)
    for row in cells:
        drawn.add_row(*(row[place] for place in widths))
    return drawn


def widest(texts: Iterable[Text]) -> int:
    return max(cell_len(line) for text in texts for line in text.plain.split("\n"))


def cell(value: Cell) -> Text:
    text = value if isinstance(value, Text) else Text("" if value is None else printable(value, LONGEST_CELL))
    text.no_wrap, text.overflow = True, "ellipsis"
    return text


def state(word: str, note: str = "") -> Text:
    """A status in its colour."""
    return Text(printable(f"{word} {note}".strip()), STYLES.get(word, ""))


def bar(percent: int, width: int = 20) -> Text:
    full = round(width * percent / 100)
    return Text("█" * full + "░" * (width - full) + f" {percent:3d} %")


def heading(title: str) -> Text:
    return Text(printable(title), "bold", no_wrap=True, overflow="ellipsis")


def facts(pairs: Iterable[tuple[str, Cell]]) -> Table:
    """Names and values, one pair a line; a pair without a value is left out."""
    drawn = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    drawn.add_column(no_wrap=True)
    drawn.add_column(overflow="fold")
    for name, value in pairs:
        if value not in (None, ""):
            drawn.add_row(Text(f"  {name}"), value if isinstance(value, Text) else Text(printable(value)))
    return drawn


def terminal_width() -> int:
    """COLUMNS if set, else the terminal's, else 80."""
    return max(NARROWEST, shutil.get_terminal_size((80, 24)).columns)


def render(shown: RenderableType, *, colour: bool) -> str:
    """The text to print, as wide as the terminal; NO_COLOR in the environment wins over `colour`."""
    console = Console(
        file=StringIO(),
        width=terminal_width(),
        force_terminal=colour,
        no_color=bool(os.environ.get("NO_COLOR")),
        markup=False,
        emoji=False,
        highlight=False,
        legacy_windows=False,
    )
    with console.capture() as captured:
        console.print(shown)
    return "\n".join(line.rstrip() for line in captured.get().splitlines())
