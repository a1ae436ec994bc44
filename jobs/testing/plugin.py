"""The pytest fixture `jobyard`. pytest loads this module in every run: it imports nothing that takes time."""

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from jobs.testing.mixin import JobsMixin


@pytest.fixture
def jobyard(db: Any) -> "JobsMixin":
    """What `jobs.testing` offers, as methods: `jobyard.drain()`, `jobyard.assert_enqueued(…)`; with the database."""
    from jobs.testing.mixin import JobsMixin

    return JobsMixin()
