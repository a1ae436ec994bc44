"""The tables of docs/performance.md from a result: `python -m benchmarks.markdown benchmarks/results/….json`."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.numbers import number


def tables(result: dict[str, Any]) -> Iterator[str]:
    for findings in result["findings"]:
        yield f"### {findings['title']}\n"
        yield "| | median | lowest – highest | bar |"
        yield "| --- | ---: | ---: | --- |"
        yield from (row(figure) for figure in findings["figures"])
        if findings["lines"]:
            yield "\n```"
            yield from findings["lines"]
            yield "```"
        yield ""


def row(figure: dict[str, Any]) -> str:
    low, high = figure["low"], figure["high"]
    spread = "" if low == high else f"{number(low)} – {number(high)}"
    bar = f"{figure['bar']}, {'met' if figure['met'] else '**missed**'}" if figure["bar"] else ""
    return f"| {figure['name'].strip()} | {number(figure['median'])} {figure['unit']} | {spread} | {bar} |"


if __name__ == "__main__":
    print("\n".join(tables(json.loads(Path(sys.argv[1]).read_text()))))
