"""For the tests of projects that use Jobyard: see what was enqueued, and run it here and now, as a worker would.

`from jobs.testing import JobsMixin, assert_enqueued, assert_not_enqueued, drain, enqueued, run_inline`
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jobs.testing.draining import JobFailed, NeverCameTrue, TooManyJobs, drain, run_inline
    from jobs.testing.expectations import assert_enqueued, assert_not_enqueued, enqueued
    from jobs.testing.mixin import JobsMixin

__all__ = [
    "JobFailed",
    "JobsMixin",
    "NeverCameTrue",
    "TooManyJobs",
    "assert_enqueued",
    "assert_not_enqueued",
    "drain",
    "enqueued",
    "run_inline",
]

HOMES = {
    "JobFailed": "draining",
    "JobsMixin": "mixin",
    "NeverCameTrue": "draining",
    "TooManyJobs": "draining",
    "assert_enqueued": "expectations",
    "assert_not_enqueued": "expectations",
    "drain": "draining",
    "enqueued": "expectations",
    "run_inline": "draining",
}


def __getattr__(name: str) -> Any:
    """Load a name when it is first used: pytest imports this package (for its fixture) before Django is set up."""
    if name not in HOMES:
        raise AttributeError(f"module 'jobs.testing' has no attribute {name!r}")
    return getattr(import_module(f"jobs.testing.{HOMES[name]}"), name)
