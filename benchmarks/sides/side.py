"""One queue among others: what each of them is asked to do, and the verbs of its process."""

import json
import os
import random
import sys
import time
from collections.abc import Callable

SINGLES = 50  # enqueued before the clock starts
AT_ONCE = 1000
FIRST = 5  # jobs of a process that wake a worker and do not count: it has just started, and imports what it needs
PAUSE = (0.04, 0.06)  # seconds between jobs that wake an idle worker: never in step with somebody's poll interval


class Side:
    """`none` is a job that does nothing, `stamp` one that first of all notes when it began."""

    distribution: str
    how: str  # its worker is set up
    tables: tuple[str, ...]
    done: str  # the statement that counts what this queue itself has recorded as finished
    jobs: int  # that one sample drains: a few seconds' worth
    has_many = True

    def setup(self) -> None:
        """Make the tables."""
        raise NotImplementedError

    def connect(self) -> None:
        """Get ready to enqueue."""

    def enqueue(self, sent: int | None = None) -> None:
        """A job in a commit of its own: `none`, or a `stamp` of when it was sent."""
        raise NotImplementedError

    def enqueue_many(self, number: int) -> None:
        raise NotImplementedError

    def work(self) -> None:
        """Be the worker that a user would start."""
        raise NotImplementedError


def database_url() -> str:
    return os.environ["DATABASE_URL"]


def note(sent: int) -> None:
    """What a `stamp` does: all processes of a machine share this clock, and so short a line is written whole."""
    began = time.monotonic_ns()
    with open(os.environ["BENCH_STAMPS"], "ab", buffering=0) as file:
        file.write(b"%d %d\n" % (sent, began))


def main(side: Side) -> None:
    verb, *numbers = sys.argv[1:]
    number = float(numbers[0]) if numbers else 0.0
    if verb == "setup":
        side.setup()
        tell({"tables": side.tables, "done": side.done, "jobs": side.jobs, "how": side.how, "many": side.has_many})
    elif verb == "work":
        side.work()
    else:
        side.connect()
        {"one": one, "many": many, "fill": fill, "wake": wake}[verb](side, number)


def one(side: Side, seconds: float) -> None:
    for _ in range(SINGLES):
        side.enqueue()
    count(side.enqueue, 1, seconds)


def many(side: Side, seconds: float) -> None:
    side.enqueue_many(AT_ONCE)
    count(lambda: side.enqueue_many(AT_ONCE), AT_ONCE, seconds)


def fill(side: Side, number: float) -> None:
    left = int(number)
    while left:
        if side.has_many:
            side.enqueue_many(min(left, AT_ONCE))
            left -= min(left, AT_ONCE)
        else:
            side.enqueue()
            left -= 1


def wake(side: Side, number: float) -> None:
    for _ in range(FIRST + int(number)):
        side.enqueue(time.monotonic_ns())
        time.sleep(random.uniform(*PAUSE))


def count(call: Callable[[], None], jobs: int, seconds: float) -> None:
    calls, began = 0, time.perf_counter()
    while time.perf_counter() - began < seconds:
        call()
        calls += 1
    tell({"per_second": calls * jobs / (time.perf_counter() - began)})


def tell(answer: object) -> None:
    print(json.dumps(answer), flush=True)
