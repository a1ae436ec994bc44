"""Fixtures of the worker's tests: a stage for processes, and a client for tests within this one."""

from collections.abc import Callable, Iterator
from pathlib import Path
from uuid import uuid4

import pytest
from django.conf import LazySettings

from jobs.handlers.registry import Kind, registry
from jobs.worker.attempt import Attempt
from jobs.worker.database_client import DatabaseClient
from jobs.worker.queue_client import ClaimOrder
from tests.factories import make_job
from tests.worker.household import Household
from tests.worker.stage import SHORT, Stage


@pytest.fixture
def stage(tmp_path: Path, transactional_db: None, settings: LazySettings) -> Iterator[Stage]:
    for name, value in SHORT.items():
        setattr(settings, name, value)
    stage = Stage(tmp_path)
    yield stage
    stage.end()


@pytest.fixture
def client(db: None) -> DatabaseClient:
    """The client of a worker that is registered; it speaks to the real database."""
    client = DatabaseClient("tester", [])
    client.register()
    return client


@pytest.fixture
def attempt(client: DatabaseClient) -> Attempt:
    """An attempt of a job that this worker has claimed."""
    make_job(max_attempts=3)
    return Attempt(client.claim(ClaimOrder(uuid4(), [], 1))[0])


@pytest.fixture
def kind() -> Iterator[Callable[..., str]]:
    """Registers functions as kinds of their own for the time of a test."""
    names: list[str] = []

    def register(function: Callable[..., object] | None = None, **options: object) -> str:
        names.append(f"test.kind-{len(names)}")
        registry.add(Kind(names[-1], function, **options))  # type: ignore[arg-type]  # options are Kind's, as given
        return names[-1]

    yield register
    for name in names:
        registry.remove(name)


@pytest.fixture
def household() -> Iterator[Household]:
    """A nursery with children that do what they are told."""
    household = Household()
    yield household
    household.end()
