"""A bar chart as SVG, drawn here: no library, and readable in light and dark pages."""

from collections.abc import Mapping, Sequence
from html import escape

from benchmarks.numbers import number

WIDTH, LEFT, RIGHT = 760, 150, 90
BAR, GAP, TITLE = 18, 6, 34
OURS, THEIRS, TEXT = "#2f6fde", "#9aa5b1", "#6b7785"


def chart(title: str, groups: Mapping[str, Mapping[str, float]], ours: str) -> str:
    """Groups of bars, each group with a scale of its own: one bar for each side, ours in colour."""
    lines, top = [f'<text x="0" y="18" class="title">{escape(title)}</text>'], TITLE
    for name, bars in groups.items():
        lines.append(f'<text x="0" y="{top + 14}" class="group">{escape(name)}</text>')
        top += BAR + GAP
        most = max(bars.values())
        for side, value in bars.items():
            lines += bar(side, value, most, top, OURS if side == ours else THEIRS)
            top += BAR + GAP
        top += GAP * 2
    return page(lines, top)


def bar(side: str, value: float, most: float, top: int, colour: str) -> Sequence[str]:
    length = max(1.0, value / most * (WIDTH - LEFT - RIGHT))
    return (
        f'<text x="{LEFT - 8}" y="{top + 13}" class="side">{escape(side)}</text>',
        f'<rect x="{LEFT}" y="{top}" width="{length:.1f}" height="{BAR}" rx="2" fill="{colour}"/>',
        f'<text x="{LEFT + length + 6:.1f}" y="{top + 13}" class="value">{number(value)}</text>',
    )


def page(lines: Sequence[str], height: int) -> str:
    style = (
        f"text{{font:13px sans-serif;fill:{TEXT}}} .title{{font-size:15px;font-weight:bold}} "
        ".group{font-weight:bold} .side{text-anchor:end}"
    )
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img">'
    return "\n".join([head, f"<style>{style}</style>", *lines, "</svg>", ""])
