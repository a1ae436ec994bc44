"""Numbers as people read them: pure."""

import math
from typing import Any, TypeGuard

UNITS = ("bit/s", "kbit/s", "Mbit/s", "Gbit/s")


def is_number(value: Any) -> TypeGuard[float]:
    """Whether it is one that can be shown: what a handler tells of itself may be anything."""
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value) and value >= 0


def clock(seconds: Any) -> str:
    """83 → 1:23; above an hour 1:02:03."""
    if not is_number(seconds):
        return ""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def bitrate(bits: Any) -> str:
    """2800000 → 2.8 Mbit/s."""
    if not is_number(bits):
        return ""
    step = min(len(UNITS) - 1, max(0, len(str(int(bits))) - 1) // 3)
    return f"{bits / 1000**step:.3g} {UNITS[step]}"


def ordinal(number: int) -> str:
    ending = "th" if number % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"


def facts(done: int, total: int | None, details: dict[str, Any]) -> str:
    """How a quality goes on: `3 of 10 segments · 48 fps · 1.9× · 0:12 left`."""
    told = [f"{done} of {total} segments" if total else ""]
    if is_number(fps := details.get("fps")):
        told.append(f"{fps:.3g} fps" if fps < 1000 else f"{fps:.0f} fps")
    if is_number(speed := details.get("speed")):
        told.append(f"{speed:.2g}×" if speed < 10 else f"{speed:.0f}×")
    if is_number(eta := details.get("eta")):
        told.append(f"{clock(eta)} left")
    return " · ".join(part for part in told if part)
