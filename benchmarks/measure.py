"""Takes times: rounds in turns, so that a slow minute of the machine hits all sides alike; medians with their range."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from statistics import median
from time import perf_counter, process_time

Sample = Callable[[], float]


@dataclass(frozen=True)
class Spread:
    """The median over the rounds, and the lowest and highest round."""

    median: float
    low: float
    high: float

    @classmethod
    def of(cls, values: list[float]) -> "Spread":
        return cls(median(values), min(values), max(values))

    def times(self, factor: float) -> "Spread":
        return Spread(self.median * factor, self.low * factor, self.high * factor)


@dataclass(frozen=True)
class Rounds:
    """The samples of several sides, taken in turns: seconds, per side and round."""

    samples: dict[str, list[list[float]]]

    def medians(self, side: str) -> list[float]:
        return [median(samples) for samples in self.samples[side]]

    def spread(self, side: str) -> Spread:
        return Spread.of(self.medians(side))

    def ratio(self, side: str, to: str) -> Spread:
        """How much longer `side` takes: compared within each round, since only neighbours in time are comparable."""
        return Spread.of([mine / other for mine, other in zip(self.medians(side), self.medians(to), strict=True)])

    def as_microseconds(self) -> dict[str, list[list[float]]]:
        return {
            side: [[round(seconds * 1e6, 1) for seconds in samples] for samples in rounds]
            for side, rounds in self.samples.items()
        }


def timed(call: Callable[[], object]) -> float:
    began = perf_counter()
    call()
    return perf_counter() - began


def cpu_timed(call: Callable[[], object]) -> float:
    """Seconds that this process computed: hardly longer on a busy machine, where all other times are."""
    began = process_time()
    call()
    return process_time() - began


def interleave(sides: Mapping[str, Sample], *, rounds: int, per_round: int, warm_up: int = 3) -> Rounds:
    """Take `per_round` samples of each side in every round, one by one in turns; the first goes last in the next."""
    for take in sides.values():
        for _ in range(warm_up):
            take()
    samples: dict[str, list[list[float]]] = {side: [] for side in sides}
    order = list(sides)
    for _ in range(rounds):
        for side in order:
            samples[side].append([])
        for _ in range(per_round):
            for side in order:
                samples[side][-1].append(sides[side]())
        order.append(order.pop(0))
    return Rounds(samples)
