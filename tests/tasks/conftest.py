"""A worker without processes: it claims, runs and finishes as a child and its supervisor do, on the real rows."""

from collections.abc import Callable
from uuid import uuid4

import pytest

from jobs.handlers.base import Child, Report, Wish
from jobs.handlers.context import Context
from jobs.worker.attempt import Attempt
from jobs.worker.database_client import DatabaseClient
from jobs.worker.execution import run_attempt
from jobs.worker.queue_client import ClaimOrder

Work = Callable[..., int]
MOST = 50


class ToDatabase:
    """Reports of a handler go where the supervisor would send them."""

    def __init__(self, client: DatabaseClient) -> None:
        self.client = client

    def report(self, report: Report) -> None:
        self.client.report(report)

    def ask(self, wish: Wish) -> tuple[Child, ...]:
        raise AssertionError("nothing is spawned here")

    def guard(self) -> None:
        raise AssertionError("no task asks for it")


@pytest.fixture
def work(db: None) -> Work:
    """Runs what is due, until nothing is; returns how many attempts that were."""

    def run(name: str = "tester", *queues: str) -> int:
        client = DatabaseClient(name, queues)
        client.register()
        for attempts in range(MOST):
            jobs = client.claim(ClaimOrder(uuid4(), queues, 1))
            if not jobs:
                return attempts
            attempt = Attempt(jobs[0])
            outcome = run_attempt(attempt, Context(jobs[0], ToDatabase(client), attempt, worker_name=name))
            assert outcome is not None
            client.finish([outcome])
        raise AssertionError("there is no end of it")

    return run
