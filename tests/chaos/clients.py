"""Those who want something of the queue, as threads of one process: they enqueue (in Python, by HTTP), cancel, retry.

Who gets no answer asks again with the same key: `python -m tests.chaos.clients SEED`, until SIGTERM.
"""

import http.client
import json
import os
import random
import signal
import sys
import threading
from collections.abc import Callable
from itertools import count

import django

KINDS: dict[str, Callable[[random.Random], dict[str, object]]] = {
    "chaos.quick": lambda chance: {},
    "chaos.long": lambda chance: {"steps": chance.randint(5, 40)},
    "chaos.exclusive": lambda chance: {"steps": chance.randint(5, 40)},
    "chaos.flaky": lambda chance: {"fails": chance.randint(0, 4)},
    "chaos.program": lambda chance: {"size": chance.randint(1, 2**20)},
    "chaos.publishing": lambda chance: {},
}
WEIGHTS = (6, 2, 1, 2, 1, 3)
stop = threading.Event()
known: list[int] = []  # jobs that somebody was told the id of


class Client(threading.Thread):
    """Does one thing again and again; whatever goes wrong, it goes on."""

    def __init__(self, name: str, seed: str, pause: float) -> None:
        super().__init__(name=name)
        self.chance, self.pause = random.Random(f"{seed} {name}"), pause

    def act(self) -> None:
        raise NotImplementedError

    def run(self) -> None:
        from django.db import DatabaseError, connection

        while not stop.wait(self.pause * self.chance.uniform(0.5, 1.5)):
            try:
                self.act()
            except (DatabaseError, OSError, http.client.HTTPException) as error:
                print(f"{self.name}: {error!r}", flush=True)
                connection.close()
        connection.close()


class Enqueuer(Client):
    def __init__(self, name: str, seed: str, pause: float) -> None:
        super().__init__(name, seed, pause)
        self.numbers = count(1)
        self.order: dict[str, object] | None = None

    def act(self) -> None:
        from tests.chaos.history import told

        self.order = self.order or self.next_order()
        job_id = self.send(self.order)
        told("enqueued", job_id)
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
        return int(self.call("/api/queue/enqueue", order)["job_id"])

    def call(self, path: str, body: dict[str, object]) -> dict[str, int]:
        server = http.client.HTTPConnection("127.0.0.1", int(os.environ["PORT"]), timeout=5)
        try:
            headers = {"Authorization": f"Bearer {os.environ['CHAOS_TOKEN']}", "Content-Type": "application/json"}
            server.request("POST", path, json.dumps(body), headers)
            answer = server.getresponse()
            text = answer.read()
            if answer.status not in (200, 201):
                raise OSError(f"{answer.status}: {text[:300]!r}")
            return dict(json.loads(text))
        finally:
            server.close()


class Canceller(Client):
    def act(self) -> None:
        from jobs.lifecycle.cancel import cancel
        from tests.chaos.history import told

        if known:
            result = cancel(self.chance.choice(known[-50:]), "by chaos")
            for job_id in (*result.cancelled, *result.requested):
                told("cancelled", job_id)


class Retrier(Client):
    def act(self) -> None:
        from jobs.lifecycle.retry import retry
        from jobs.models import Job
        from jobs.states import Status
        from tests.chaos.history import told

        ended = Job.objects.filter(status__in=(Status.FAILED, Status.CANCELLED)).values_list("pk", flat=True)
        if ids := sorted(ended):
            for job_id in retry(self.chance.choice(ids), "by chaos").moved:
                told("retried", job_id)


def main() -> None:
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    django.setup()
    seed = sys.argv[1]
    clients = [
        Enqueuer("enqueuer-1", seed, 0.1),
        Enqueuer("enqueuer-2", seed, 0.1),
        HttpEnqueuer("http", seed, 0.3),
        Canceller("canceller", seed, 0.5),
        Retrier("retrier", seed, 0.7),
    ]
    for client in clients:
        client.start()
    for client in clients:
        client.join()


if __name__ == "__main__":
    main()
