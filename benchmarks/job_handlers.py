"""The kinds that benchmarks enqueue: one that does nothing, and three that tell when they began."""

import time
from typing import Any

from jobs import handler


@handler("bench.noop")
def noop(context: Any, **payload: Any) -> None:
    pass


@handler("bench.arrived")
def arrived(context: Any) -> int:
    return time.time_ns()


@handler("bench.stamp")
def stamp(context: Any, sent_ns: int) -> None:
    from peers.base import stamp as note  # type: ignore[import-not-found]  # of the harness adapter.py is for

    note(sent_ns)


@handler("bench.note")
def note(context: Any, sent: int) -> None:
    from benchmarks.sides.side import note

    note(sent)
