"""What a measure found: figures with their bars, the samples behind them, and lines worth reading beside them."""

from dataclasses import dataclass, field
from typing import Any

from benchmarks.measure import Rounds, Spread


@dataclass(frozen=True)
class Figure:
    name: str
    spread: Spread
    unit: str
    at_most: float | None = None
    at_least: float | None = None

    @property
    def bar(self) -> str:
        if self.at_most is not None:
            return f"≤ {self.at_most:g}"
        return f"≥ {self.at_least:g}" if self.at_least is not None else ""

    @property
    def met(self) -> bool | None:
        """Whether the median meets the bar; None where there is none."""
        if self.at_most is not None:
            return self.spread.median <= self.at_most
        return self.spread.median >= self.at_least if self.at_least is not None else None

    def as_dict(self) -> dict[str, Any]:
        values = {name: rounded(value) for name, value in vars(self.spread).items()}
        return {"name": self.name, **values, "unit": self.unit, "bar": self.bar, "met": self.met}


@dataclass
class Findings:
    title: str
    figures: list[Figure] = field(default_factory=list)
    samples: dict[str, Any] = field(default_factory=dict)
    lines: list[str] = field(default_factory=list)

    def milliseconds(self, name: str, rounds: Rounds, side: str) -> None:
        self.figures.append(Figure(name, rounds.spread(side).times(1e3), "ms"))

    def per_second(self, name: str, rounds: Rounds, side: str) -> None:
        """For samples that are seconds per job."""
        rates = [1 / seconds for seconds in rounds.medians(side)]
        self.figures.append(Figure(name, Spread.of(rates), "/s"))

    def ratio(self, name: str, rounds: Rounds, side: str, to: str, **bar: float) -> None:
        self.figures.append(Figure(name, rounds.ratio(side, to), "×", **bar))

    def as_dict(self) -> dict[str, Any]:
        return {
            "title": self.title,
            "figures": [figure.as_dict() for figure in self.figures],
            "lines": self.lines,
            "samples_us": self.samples,
        }


def rounded(value: float) -> float:
    return float(f"{value:.4g}")
