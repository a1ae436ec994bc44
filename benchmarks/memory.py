"""How much memory a call needs at its peak, read from the kernel."""

from collections.abc import Callable
from pathlib import Path

STATUS, CLEAR_REFS = Path("/proc/self/status"), Path("/proc/self/clear_refs")
RESET_PEAK = "5"


def peak_growth(call: Callable[[], object]) -> float | None:
    """MiB by which this process grew at most during the call; None where there is no /proc."""
    if not STATUS.exists():
        call()
        return None
    CLEAR_REFS.write_text(RESET_PEAK)
    before = kilobytes("VmRSS")
    call()
    return max(0, kilobytes("VmHWM") - before) / 1024


def kilobytes(name: str) -> int:
    line = next(line for line in STATUS.read_text().splitlines() if line.startswith(f"{name}:"))
    return int(line.split()[1])
