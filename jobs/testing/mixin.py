"""The helpers as methods, for `class MyTests(JobsMixin, TestCase)` and for the pytest fixture."""

from jobs.testing.draining import drain, run_inline
from jobs.testing.expectations import assert_enqueued, assert_not_enqueued, enqueued


class JobsMixin:
    """Needs no setUp: it works in TestCase, TransactionTestCase and their subclasses alike."""

    drain = staticmethod(drain)
    run_inline = staticmethod(run_inline)
    enqueued = staticmethod(enqueued)
    assert_enqueued = staticmethod(assert_enqueued)
    assert_not_enqueued = staticmethod(assert_not_enqueued)
