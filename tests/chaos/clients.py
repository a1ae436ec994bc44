"""Those who want something of the queue, as threads of one process: they enqueue (in Python, by HTTP), cancel, retry.

Who gets no answer asks again with the same key: `python -m tests.chaos.clients SEED`, until SIGTERM.
"""

import http.client
import os
import random
import signal
import sys
import threading
from collections.abc import Callable, Sequence
from itertools import count

import django

from tests.chaos.asking import post
from tests.chaos.history import now, told

KINDS: dict[str, Callable[[random.Random], dict[str, object]]] = {
    "chaos.quick": lambda chance: {},
    "chaos.long": lambda chance: {"steps": chance.randint(5, 40)},
    "chaos.exclusive": lambda chance: {"steps": chance.randint(5, 40)},
    "chaos.flaky": lambda chance: {"fails": chance.randint(0, 4)},
    "chaos.program": lambda chance: {"size": chance.randint(1, 2**20)},
    "chaos.publishing": lambda chance: {},
}
WEIGHTS = (6, 2, 1, 2, 1, 3)
ENDLESS_KIND = "chaos.endless"
stop = threading.Event()
known: list[int] = []  # jobs that somebody was told the id of


class Client(threading.Thread):
    """Does one thing again and again, also through outages; whatever else goes wrong is told at the end."""

    def __init__(self, name: str, seed: str, pause: float) -> None:
        super().__init__(name=name)
        self.chance, self.pause = random.Random(f"{seed} {name}"), pause

    def act(self) -> None:
        raise NotImplementedError

    def run(self) -> None:
        from django.db import Error, connection

        while not stop.wait(self.pause * self.chance.uniform(0.5, 1.5)):
            try:
                self.act()
            except (Error, OSError, http.client.HTTPException) as error:
                print(f"{self.name}: {error!r}", flush=True)
                connection.close()
        connection.close()


class Enqueuer(Client):
    def __init__(self, name: str, seed: str, pause: float) -> None:
        super().__init__(name, seed, pause)
        self.numbers = count(1)
        self.order: dict[str, object] | None = None

    def act(self) -> None:
        self.order = self.order or self.next_order()
        job_id = self.send(self.order)
        told("enqueued", job_id, who=self.name)
        known.append(job_id)
        self.order = None

    def next_order(self) -> dict[str, object]:
        (kind,) = self.chance.choices(list(KINDS), WEIGHTS)
        return {
            "kind": kind,
            "payload": KINDS[kind](self.chance),
            "queue": self.chance.choice(("one", "two")),
            "dedupe_key": f"{self.name} {next(self.numbers)}",
            "unique": "ever",
            "max_attempts": self.chance.randint(2, 5),
        }

    def send(self, order: dict[str, object]) -> int:
        from jobs import enqueue

        return enqueue(**order).job_id  # type: ignore[arg-type]


class HttpEnqueuer(Enqueuer):
    def send(self, order: dict[str, object]) -> int:
        return int(post(int(os.environ["PORT"]), os.environ["CHAOS_TOKEN"], "/api/queue/enqueue", order)["job_id"])


class ProgramEnqueuer(Enqueuer):
    """What keeps a slot busy until its time is over: few of them, so that all else gets done."""

    def next_order(self) -> dict[str, object]:
        return {**super().next_order(), "kind": ENDLESS_KIND, "payload": {}, "max_attempts": 2}


class Canceller(Client):
    def act(self) -> None:
        from jobs.lifecycle.cancel import cancel

        if known:
            since = now()
            result = cancel(self.chance.choice(known[-50:]), "by chaos")
            for job_id in result.cancelled:
                told("cancelled", job_id, since=since)
            for job_id in result.requested:
                told("cancel_requested", job_id, since=since)


class Retrier(Client):
    def act(self) -> None:
        from jobs.lifecycle.retry import retry
        from jobs.models import Job
        from jobs.states import Status

        ended = Job.objects.filter(status__in=(Status.FAILED, Status.CANCELLED)).exclude(kind=ENDLESS_KIND)
        if ids := sorted(ended.values_list("pk", flat=True)):
            since = now()
            for job_id in retry(self.chance.choice(ids), "by chaos").moved:
                told("retried", job_id, since=since)


def run_all(clients: Sequence[Client]) -> int:
    """Until each has ended; 1 if one of them did so before it was told to."""
    died: list[str] = []

    def note(failure: threading.ExceptHookArgs) -> None:
        died.append(str(failure.thread and failure.thread.name))
        threading.__excepthook__(failure)

    before, threading.excepthook = threading.excepthook, note
    try:
        for client in clients:
            client.start()
        for client in clients:
            client.join()
    finally:
        threading.excepthook = before
    return 1 if died else 0


def main() -> int:
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    django.setup()
    seed = sys.argv[1]
    clients = [
        Enqueuer("enqueuer-1", seed, 0.1),
        Enqueuer("enqueuer-2", seed, 0.1),
        HttpEnqueuer("http", seed, 0.3),
        ProgramEnqueuer("programs", seed, 2.5),
        Canceller("canceller", seed, 0.5),
        Retrier("retrier", seed, 0.7),
    ]
    return run_all(clients)


if __name__ == "__main__":
    sys.exit(main())
