"""Shows findings in the terminal and keeps them as JSON."""

import json
from datetime import datetime
from pathlib import Path
from time import monotonic
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.findings import Figure, Findings
from benchmarks.numbers import number

RESULTS = Path(__file__).parent / "results"
BEGAN = monotonic()
console = Console(highlight=False, soft_wrap=True)


def say(text: str) -> None:
    console.print(f"[dim]{monotonic() - BEGAN:6.1f} s  {text} …[/dim]")


def show(found: Findings) -> None:
    table = Table(title=found.title, title_justify="left", box=None, pad_edge=False)
    table.add_column("")
    for name in ("median", "lowest", "highest", "bar"):
        table.add_column(name, justify="right")
    table.add_column("")
    for figure in found.figures:
        table.add_row(*row(figure))
    console.print(table)
    for line in found.lines:
        console.print("  " + line, markup=False)
    console.print()


def row(figure: Figure) -> tuple[str, ...]:
    spread = figure.spread
    one = spread.low == spread.high
    shown = [
        f"{number(spread.median)} {figure.unit}",
        "" if one else number(spread.low),
        "" if one else number(spread.high),
    ]
    met = {None: "", True: "met", False: "MISSED"}[figure.met]
    return figure.name, *shown, figure.bar, met


def save(result: dict[str, Any], suffix: str) -> Path:
    day = datetime.fromisoformat(result["when"]).date()
    path = RESULTS / f"{day}-{result['commit']}{suffix}.json"
    RESULTS.mkdir(exist_ok=True)
    path.write_text(json.dumps(result, separators=(",", ":")) + "\n")
    return path
