"""How wide the columns of a table may be where there is little room: pure."""

from collections.abc import Sequence
from dataclasses import dataclass

LEAST_LEFT = 6  # of a column that gives way


@dataclass(frozen=True)
class Wish:
    """What a column would take: its widest cell, its title, and whether its cells may be cut."""

    cells: int
    title: int
    cut: bool

    @property
    def natural(self) -> int:
        return max(self.cells, self.title, 1)

    @property
    def least(self) -> int:
        """Numbers and states are never cut, titles are; what may be cut keeps a beginning."""
        return min(self.natural, LEAST_LEFT) if self.cut else max(self.cells, 1)


def fit(wishes: Sequence[Wish], room: int, gap: int) -> list[int]:
    """A width for each column: cells that may be cut give way first, then titles, then the last columns go."""
    shown = list(wishes)
    while len(shown) > 1 and sum(wish.least + gap for wish in shown) - gap > room:
        shown.pop()
    widths = [wish.natural for wish in shown]
    for cuts in (True, False):
        while sum(widths) + gap * (len(widths) - 1) > room:
            spare = [widths[i] - wish.least if wish.cut == cuts else 0 for i, wish in enumerate(shown)]
            if not any(spare):
                break
            widest = max((i for i in range(len(shown)) if spare[i]), key=lambda i: widths[i])
            widths[widest] -= 1
    return widths if len(widths) > 1 else [min(widths[0], room)]
