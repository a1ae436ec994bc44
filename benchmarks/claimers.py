"""Workers that run no handlers: threads, each with a connection of its own, that claim and finish until told to stop.

`python -m benchmarks.claimers FIRST THREADS FILE`: into the file goes a line for each claim: when, how long, how many
jobs. Where one of the threads fails, all stop, and so the process fails.
"""

import json
import random
import signal
import sys
import threading
import time
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from pathlib import Path
from typing import IO, Any

import django

LIMITS, WEIGHTS = (1, 10, 100), (6, 3, 1)
BEAT_EVERY = 20.0  # seconds
stop = threading.Event()
writing = threading.Lock()


def work(number: int, file: IO[str]) -> None:
    from django.db import connection

    from jobs.lifecycle.heartbeat import beat
    from jobs.lifecycle.plain_claim import Habit
    from jobs.lifecycle.workers import register
    from jobs.process_identity import this_process

    worker = register(f"load-{number}", this_process(), queues=["load"], slots=max(LIMITS))
    chance, habit, beat_at = random.Random(number), Habit(), time.monotonic() + BEAT_EVERY
    try:
        while not stop.is_set():
            if time.monotonic() >= beat_at:
                beat(worker.pk)  # who is silent is taken for dead, and given nothing
                beat_at = time.monotonic() + BEAT_EVERY
            (limit,) = chance.choices(LIMITS, WEIGHTS)
            seconds, jobs = claim_and_finish(worker, limit, habit)
            with writing:
                file.write(json.dumps([time.time(), seconds, jobs]) + "\n")
            if not jobs:
                stop.wait(0.1)
    finally:
        connection.close()


def claim_and_finish(worker: Any, limit: int, habit: Any) -> tuple[float, int]:
    from jobs.handlers.base import Outcome
    from jobs.lifecycle.claim import claim
    from jobs.lifecycle.finish import finish

    began = time.perf_counter()
    taken = claim(worker, ["load"], limit, habit=habit)
    seconds = time.perf_counter() - began
    if taken:
        answers = finish([Outcome.completed(job.claim, {"size": len(job.payload["text"])}) for job in taken])
        assert all(answer.refused is None for answer in answers), "an outcome was refused"
    return seconds, len(taken)


def work_all(first: int, threads: int, file: IO[str]) -> None:
    """Until told to stop; raises what the first of them raised."""
    with ThreadPoolExecutor(threads) as pool:
        working = [pool.submit(work, first + number, file) for number in range(threads)]
        wait(working, return_when=FIRST_EXCEPTION)
        stop.set()
    for each in working:
        each.result()


def main() -> None:
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    django.setup()
    first, threads, path = int(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3])
    with path.open("a", buffering=1) as file:
        work_all(first, threads, file)


if __name__ == "__main__":
    main()
