"""Counts the calls of each caller, and refuses those above a limit: how many this process may still answer."""

import threading
import time
from dataclasses import dataclass

from jobs.api.errors import ApiError
from jobs.lifecycle.call_budget import take
from jobs.wire.names import Code

PORTIONS = 20  # of a limit: so much of it, at most, lies unused in a process while another one has run out
MOST_KNOWN = 10_000  # callers


@dataclass
class Portion:
    left: int
    until: float  # by this process's clock

    @property
    def seconds(self) -> float:
        return max(0.0, self.until - time.monotonic())


class Budgets:
    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._portions: dict[str, Portion] = {}

    def spend(self, name: str, limit: int) -> None:
        """One call more; raises if that is too many. A limit of 0 is none."""
        if not limit:
            return
        portion = self._spent(name)
        if portion is None:
            granted, seconds = take(name, limit, max(1, limit // PORTIONS))
            portion = self._keep(name, granted - 1, seconds)
        if portion.left < 0:
            raise too_many(portion.seconds)

    def forget(self) -> None:
        with self._lock:
            self._portions.clear()

    def _spent(self, name: str) -> Portion | None:
        """One call of what is here; None where it must be asked for more."""
        with self._lock:
            portion = self._portions.get(name)
            if portion is None or portion.seconds == 0 or portion.left == 0:
                return None
            if portion.left > 0:
                portion.left -= 1
                return Portion(0, portion.until)
            return portion

    def _keep(self, name: str, left: int, seconds: float) -> Portion:
        with self._lock:
            if len(self._portions) >= MOST_KNOWN:
                self._portions = {key: kept for key, kept in self._portions.items() if kept.seconds > 0}
                if len(self._portions) >= MOST_KNOWN:
                    self._portions.clear()  # they ask again, which costs time and admits nobody
            self._portions[name] = portion = Portion(left, time.monotonic() + seconds)
            return portion


def too_many(seconds: float) -> ApiError:
    wait = max(1, round(seconds + 0.5))
    return ApiError(429, Code.TOO_MANY, f"Too many calls; call again in {wait} s.", {"Retry-After": str(wait)})


budgets = Budgets()
