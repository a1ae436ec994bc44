"""Kinds that are there for one test, and both ways to test: inside of a transaction, and without one."""

import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from jobs import handler
from jobs.handlers.registry import registry
from jobs.testing.plugin import jobyard  # noqa: F401  an installation finds it by its entry point


@pytest.fixture
def kind() -> Iterator[Callable[..., Any]]:
    """`@handler`, undone when the test is over."""
    added: list[str] = []

    def register(name: str, **options: Any) -> Any:
        added.append(name)
        return handler(name, **options)

    yield register
    for name in added:
        registry.remove(name)


IN_A_TRANSACTION = pytest.param("in a TestCase", marks=pytest.mark.django_db)
WITHOUT = pytest.param("in a TransactionTestCase", marks=pytest.mark.django_db(transaction=True))


@pytest.fixture(params=[IN_A_TRANSACTION, WITHOUT])
def database(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(autouse=True)
def _threads_of_asgiref_have_ended() -> Iterator[None]:
    """`async_to_sync` does not wait for the thread of its loop to end; it does so a moment later."""
    before = set(threading.enumerate())
    yield
    for thread in set(threading.enumerate()) - before:
        if thread.name.startswith("ThreadPoolExecutor-"):
            thread.join(10)
