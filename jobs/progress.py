"""The arithmetic of progress: pure."""

from collections.abc import Sequence


def overall_percent(weights: Sequence[float], position: int, percent: float) -> int:
    """How far a job is when the phase at `position` is at `percent` and those before it are done."""
    total = sum(weights)
    if total <= 0:
        return 0
    return round((sum(weights[:position]) * 100 + weights[position] * percent) / total)


def eta_seconds(percent: float, elapsed: float) -> float | None:
    """How long the rest takes if it goes on as before; None while there is nothing to go by."""
    if percent <= 0 or percent > 100 or elapsed <= 0:
        return None
    return elapsed * (100 - percent) / percent
