"""Hears over HTTP that work arrived: the server answers a call when there is some, or after a while without."""

import time
from collections.abc import Callable, Collection
from types import TracebackType

AT_ONCE = 0.2  # seconds
FIRST_REST, LONGEST_REST = 0.05, 1.0


class HttpListener:
    # The server says what is there, not what has just come: who has no room would hear of the same jobs without end.
    shared = True
    patience = 0.0  # a call that waits for work may take long, and nothing is lost if nobody waits for its end

    def __init__(self, ask: Callable[[], Collection[str]], claimed: Callable[[], int]) -> None:
        """`claimed` says how many jobs were claimed so far."""
        self._ask, self._claimed = ask, claimed
        self._rest, self._claimed_then = 0.0, 0

    def __enter__(self) -> "HttpListener":
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        pass

    def wait(self, seconds: float, most: int = 1) -> Collection[str]:
        """As long as the server lets us: a call each second would be a burden to it. Zero seconds: no call at all.

        Who is answered at once, again and again, and claims nothing asks less and less often: the jobs are not for it,
        or this server cannot let anybody wait.
        """
        if seconds <= 0:
            return ()
        time.sleep(self._rest)
        if self._claimed_then != (claimed := self._claimed()):
            self._rest, self._claimed_then = 0.0, claimed
        began = time.monotonic()
        heard = self._ask()
        at_once = time.monotonic() - began < AT_ONCE
        self._rest = min(max(2 * self._rest, FIRST_REST), LONGEST_REST) if at_once else 0.0
        return heard
