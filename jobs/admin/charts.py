"""Bars of what happened when, as the numbers that an SVG needs: the template only draws."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from django.utils import timezone

from jobs.selectors.throughput import Slot
from jobs.states import EventName

WIDTH, HEIGHT = 600.0, 100.0
GAP = 0.2  # of a bar's room
SMALLEST = 1.5  # one job among thousands is still seen


@dataclass(frozen=True)
class Bar:
    time: str
    completed: int
    failed: int
    x: float
    width: float
    completed_y: float
    completed_height: float
    failed_y: float
    failed_height: float


@dataclass(frozen=True)
class Chart:
    name: str
    title: str
    bars: list[Bar]
    top: int
    middle: str

    @property
    def busy(self) -> list[Bar]:
        """For the table: minutes in which something ended."""
        return [bar for bar in self.bars if bar.completed or bar.failed]


def chart(name: str, title: str, slots: Sequence[Slot]) -> Chart:
    """Completed jobs at the bottom, failed ones on top of them."""
    top = round_up(max((ended(slot) for slot in slots), default=0))
    room = WIDTH / max(1, len(slots))
    bars = [bar(slot, number * room, room * (1 - GAP), top) for number, slot in enumerate(slots)]
    return Chart(name, title, bars, top, middle=bars[len(bars) // 2].time if bars else "")


def bar(slot: Slot, x: float, width: float, top: int) -> Bar:
    completed, failed = slot.events[EventName.COMPLETED], slot.events[EventName.FAILED]
    completed_height, failed_height = height(completed, top), height(failed, top)
    return Bar(
        time=timezone.localtime(slot.begins).strftime("%H:%M"),
        completed=completed,
        failed=failed,
        x=round(x, 2),
        width=round(width, 2),
        completed_y=round(HEIGHT - completed_height, 2),
        completed_height=completed_height,
        failed_y=round(HEIGHT - completed_height - failed_height, 2),
        failed_height=failed_height,
    )


def ended(slot: Slot) -> int:
    return slot.events[EventName.COMPLETED] + slot.events[EventName.FAILED]


def height(jobs: int, top: int) -> float:
    return round(max(SMALLEST, HEIGHT * jobs / top), 2) if jobs else 0.0


def round_up(number: int) -> int:
    """To 1, 2 or 5 times a power of ten: what a scale can be read at."""
    if number <= 1:
        return 1
    power = 10 ** math.floor(math.log10(number))
    return next(step * power for step in (1, 2, 5, 10) if step * power >= number)
