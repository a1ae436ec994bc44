"""How measured numbers are read and written."""

from collections.abc import Sequence


def number(value: float) -> str:
    """With three digits that count."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def percentile(values: Sequence[float], percent: float) -> float:
    """The smallest value that so many percent of them do not exceed."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * percent / 100))]
