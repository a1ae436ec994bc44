"""The stage of the worker's tests, for faults of what is around a worker."""

from tests.worker.conftest import stage

__all__ = ["stage"]
