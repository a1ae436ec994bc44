"""Hears over HTTP that work arrived: the server answers a call when there is some, or after a while without."""

from collections.abc import Callable, Collection
from types import TracebackType


class HttpListener:
    shared = False
    patience = 0.0  # a call that waits for work may take long, and nothing is lost if nobody waits for its end

    def __init__(self, ask: Callable[[], Collection[str]]) -> None:
        self._ask = ask

    def __enter__(self) -> "HttpListener":
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        pass

    def wait(self, seconds: float, most: int = 1) -> Collection[str]:
        """As long as the server lets us: a call each second would be a burden to it."""
        return self._ask()
