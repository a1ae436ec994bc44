"""Jobyard: durable background jobs out of the database.

`from jobs import enqueue, enqueue_many, batch, NewJob, handler, periodic, pipeline, Fatal, RetryLater, WaitFor`;
importing it touches no model.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jobs.exceptions import Fatal, RetryLater, WaitFor
    from jobs.handlers.base import Spawn
    from jobs.handlers.periodic import periodic
    from jobs.handlers.pipeline import pipeline
    from jobs.handlers.registry import handler
    from jobs.lifecycle.batch import Batch, batch
    from jobs.lifecycle.enqueue import enqueue
    from jobs.lifecycle.enqueue_many import enqueue_many
    from jobs.lifecycle.new_job import NewJob

__version__ = "0.1.0"
__all__ = [
    "Batch",
    "Fatal",
    "NewJob",
    "RetryLater",
    "Spawn",
    "WaitFor",
    "batch",
    "enqueue",
    "enqueue_many",
    "handler",
    "periodic",
    "pipeline",
]

HOMES = {
    "Batch": "jobs.lifecycle.batch",
    "Spawn": "jobs.handlers.base",
    "WaitFor": "jobs.exceptions",
    "batch": "jobs.lifecycle.batch",
    "Fatal": "jobs.exceptions",
    "RetryLater": "jobs.exceptions",
    "NewJob": "jobs.lifecycle.new_job",
    "enqueue": "jobs.lifecycle.enqueue",
    "enqueue_many": "jobs.lifecycle.enqueue_many",
    "handler": "jobs.handlers.registry",
    "periodic": "jobs.handlers.periodic",
    "pipeline": "jobs.handlers.pipeline",
}


def __getattr__(name: str) -> Any:
    """Load a public name when it is first used: models cannot be imported before Django is set up."""
    if name not in HOMES:
        raise AttributeError(f"module 'jobs' has no attribute {name!r}")
    return getattr(import_module(HOMES[name]), name)
