"""What the tests of the worker API share."""

from collections.abc import Iterator

import pytest

from jobs.api.worker.budgets import budgets


@pytest.fixture(autouse=True)
def _nobody_has_called() -> Iterator[None]:
    budgets.forget()
    yield
    budgets.forget()
