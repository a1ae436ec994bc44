"""What every test shares: the two engines, and a clean registry of kinds."""

import threading
from collections.abc import Iterator

import pytest
from django.db import connection

from jobs.handlers.registry import Kind, registry


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what is about the other engine: the suite runs once on each."""
    others = ("sqlite", "once") if connection.vendor == "postgresql" else ("postgres",)
    left_out = [item for item in items if any(item.get_closest_marker(other) for other in others)]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in left_out]


@pytest.fixture(autouse=True)
def _noop_kind() -> Iterator[None]:
    """A kind that does nothing, for tests that are not about handlers."""
    registry.add(Kind("test.noop", lambda context, **payload: None))
    yield
    registry.remove("test.noop")


@pytest.fixture(autouse=True)
def _no_thread_left_behind() -> Iterator[None]:
    before = set(threading.enumerate())
    yield
    left = [thread.name for thread in set(threading.enumerate()) - before if thread.is_alive()]
    assert not left, f"the test left threads behind: {left}"
