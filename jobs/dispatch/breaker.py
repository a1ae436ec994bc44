"""A circuit breaker: after a few failures it lets nobody through for a while, then one, to see. It knows no Redis."""

import random
import threading

FAILURES = 3  # in a row
FIRST_PAUSE, LONGEST_PAUSE = 30.0, 300.0  # seconds
JITTER = 0.2  # so that many processes do not come back together
PROBE = 5.0  # seconds that the one who tries may take before another one does


class Breaker:
    """Every call is told the present: a clock that only goes forward."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._failures = self._openings = 0
        self._open_until: float | None = None

    def wait(self, now: float) -> float:
        """Seconds until a call may be made. Where that is 0, the caller makes it, and says how it went."""
        with self._lock:
            if self._open_until is None:
                return 0.0
            if now < self._open_until:
                return self._open_until - now
            self._open_until = now + PROBE
            return 0.0

    def succeeded(self) -> bool:
        """Whether it was open, and is closed by this."""
        with self._lock:
            was_open = self._open_until is not None
            self._failures = self._openings = 0
            self._open_until = None
            return was_open

    def failed(self, now: float) -> float | None:
        """For how long nobody is let through, where this opened it."""
        with self._lock:
            self._failures += 1
            if self._failures < FAILURES:
                return None
            pause = min(FIRST_PAUSE * 2**self._openings, LONGEST_PAUSE) * random.uniform(1 - JITTER, 1)
            self._openings = min(self._openings + 1, 10)
            self._open_until = now + pause
            return pause
