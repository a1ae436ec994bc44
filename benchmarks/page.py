"""Puts a result into the documentation: `python -m benchmarks.page benchmarks/results/….json`.

Everything between `<!-- figures: NAME -->` and `<!-- end -->` in docs/performance.md is written anew from the findings
whose title begins with that name; so are the chart, and the capacities in docs/operations/sizing.md.
"""

import json
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from benchmarks.chart import chart
from benchmarks.numbers import number

ROOT = Path(__file__).resolve().parent.parent
PAGE, SIZING = ROOT / "docs/performance.md", ROOT / "docs/operations/sizing.md"
CHART = ROOT / "docs/images/side-by-side.svg"
PICTURE = "![Jobs per second of Jobyard and other queues](images/side-by-side.svg)"
FIGURES = re.compile(r"(<!-- figures: (.+?) -->\n).*?(<!-- end -->)", re.DOTALL)
RESULT = re.compile(r"benchmarks/results/[^`]+\.json")
SIDES, OURS = "Side by side", "jobyard"
CHARTED = ("drain, 1 worker", "drain, 2 workers", "enqueue", "enqueue_many")
# The rows of docs/operations/sizing.md, and the figure each of them quotes.
CAPACITIES = {
    "jobs that do nothing, one worker with one child": ("Drain by a worker", "runworker, one process"),
    "the same, two children on the same two cores": ("Drain by a worker", "runworker, two processes"),
    "`enqueue`, one per commit, one process": ("Enqueue", "enqueue, one per commit"),
    "`enqueue_many`, 1,000 per call, one process": ("Enqueue", "enqueue_many, 1000 per call"),
}
Found = dict[str, Any]


def main(path: Path) -> None:
    result = json.loads(path.read_text())
    findings = {found["title"]: found for found in result["findings"]}
    source = f"From `benchmarks/results/{path.name}`: {machine(result)}"
    PAGE.write_text(FIGURES.sub(lambda place: filled(place, source, findings), PAGE.read_text()))
    if by_name(findings, "Enqueue") and by_name(findings, "Drain by a worker"):
        SIZING.write_text(RESULT.sub(f"benchmarks/results/{path.name}", sized(SIZING.read_text(), findings)))
    if sides := by_name(findings, SIDES):
        CHART.write_text(drawn(sides))


def filled(place: re.Match[str], source: str, findings: dict[str, Found]) -> str:
    before, name, after = place.groups()
    found = by_name(findings, name)
    if found is None:
        return place.group()  # it was not measured this time
    beside = [PICTURE, "", *matrix(found)] if name == SIDES else []
    lines = [*beside, *table(found), *told(found), "", source]
    return before + "\n".join(lines) + "\n" + after


def by_name(findings: dict[str, Found], name: str) -> Found | None:
    return next((found for title, found in findings.items() if title.startswith(name)), None)


def machine(result: Found) -> str:
    about, server = result["machine"], result["postgres"]
    load = " and ".join(f"{about[when][0]:g}" for when in ("load_at_the_start", "load_at_the_end"))
    changed = ", with changes" if result["changed_since_commit"] else ""
    version, durable = server["server_version"].split()[0], server["synchronous_commit"]
    return (
        f"{result['when'][:10]}, commit {result['commit']}{changed}: {about['cpus']} cores, Python {about['python']}, "
        f"PostgreSQL {version} with fsync {server['fsync']} and synchronous_commit {durable}; "
        f"load {load} when it began and ended."
    )


def matrix(found: Found) -> Iterator[str]:
    """A row for each measure, a column for each side: medians, and the lowest and highest round."""
    samples = found["samples_us"]["sides"]
    figures = {figure["name"]: figure for figure in found["figures"]}
    yield f"| | {' | '.join(samples)} |"
    yield f"| --- |{' ---: |' * len(samples)}"
    for name in samples[OURS]:
        cells = [cell(figures.get(f"{name}, {side}")) for side in samples]
        yield f"| {name} | {' | '.join(cells)} |"
    yield ""


def cell(figure: Found | None) -> str:
    if figure is None:
        return "–"
    spread = "" if figure["low"] == figure["high"] else f"({number(figure['low'])} – {number(figure['high'])})"
    return " ".join(filter(None, (number(figure["median"]), figure["unit"], spread)))


def table(found: Found) -> Iterator[str]:
    """What is in no matrix: a row for each figure, with its bar."""
    in_matrix = {f"{name}, {side}" for side, names in found["samples_us"].get("sides", {}).items() for name in names}
    yield "| | median | lowest – highest | bar |"
    yield "| --- | ---: | ---: | --- |"
    yield from (row(figure) for figure in found["figures"] if figure["name"] not in in_matrix)


def row(figure: Found) -> str:
    low, high = figure["low"], figure["high"]
    spread = "" if low == high else f"{number(low)} – {number(high)}"
    bar = f"{figure['bar']}, {'met' if figure['met'] else '**missed**'}" if figure["bar"] else ""
    return f"| {figure['name'].strip()} | {number(figure['median'])} {figure['unit']} | {spread} | {bar} |"


def told(found: Found) -> Sequence[str]:
    return ["", "```", *found["lines"], "```"] if found["lines"] else []


def sized(text: str, findings: dict[str, Found]) -> str:
    for label, (title, name) in CAPACITIES.items():
        found = by_name(findings, title)
        rate = next((each["median"] for each in found["figures"] if each["name"] == name), None) if found else None
        if rate:
            shown = f"| {label} | {number(rate)} /s | {rate * 86_400 / 3 / 1e6:.2g} million |"
            text = re.sub(rf"^\| {re.escape(label)} \|.*$", shown, text, flags=re.MULTILINE)
    return text


def drawn(found: Found) -> str:
    figures = {figure["name"]: figure["median"] for figure in found["figures"]}
    sides = found["samples_us"]["sides"]
    groups = {
        f"{name}, jobs per second": {side: figures[f"{name}, {side}"] for side in sides if f"{name}, {side}" in figures}
        for name in CHARTED
    }
    return chart("Jobs per second, side by side", groups, OURS)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
