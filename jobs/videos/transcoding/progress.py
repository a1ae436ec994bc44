"""What ffmpeg's `-progress` says, block by block, and whether it still gets on."""

from collections.abc import Callable
from math import isfinite
from time import monotonic

from jobs.exceptions import JobyardError

STALLED_AFTER = 60.0  # seconds
USUAL_INTERVALS = 3


class Stalled(JobyardError):
    """ffmpeg got no further for {seconds:.0f} s, at frame {frame}: it was ended."""


class Gauge:
    """Fed with lines; tells the frame it is at, and how fast. Never goes back."""

    def __init__(self, on_frame: Callable[["Gauge"], None], clock: Callable[[], float] = monotonic) -> None:
        self.frame = 0
        self.out_time = 0.0  # seconds; for what has no frames
        self.fps = 0.0
        self.speed = 0.0
        self._on_frame, self._clock = on_frame, clock
        self._moved_at = clock()
        self._longest = 0.0

    def feed(self, line: str) -> None:
        key, _, value = line.partition("=")
        if key == "frame":
            self._move(frame=as_number(value))
        elif key == "out_time_us":  # `out_time_ms` counts microseconds, too: this one says so
            self._move(out_time=as_number(value) / 1e6)
        elif key == "fps":
            self.fps = as_number(value)
        elif key == "speed":
            self.speed = as_number(value.rstrip("x"))
        elif key == "progress":
            self._on_frame(self)

    def check(self) -> None:
        """Raise Stalled if nothing has moved for much longer than it usually takes. Alive is not advancing."""
        still = self._clock() - self._moved_at
        if still > max(STALLED_AFTER, USUAL_INTERVALS * self._longest):
            raise Stalled(seconds=still, frame=self.frame)

    def _move(self, frame: float = 0, out_time: float = 0) -> None:
        if frame <= self.frame and out_time <= self.out_time:
            return
        self.frame, self.out_time = max(self.frame, int(frame)), max(self.out_time, out_time)
        now = self._clock()
        self._longest, self._moved_at = max(self._longest, now - self._moved_at), now


def as_number(value: str) -> float:
    """The first block says N/A, and a clock that starts before zero is at zero."""
    try:
        number = float(value)
    except ValueError:
        return 0.0
    return max(0.0, number) if isfinite(number) else 0.0
