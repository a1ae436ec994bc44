"""A worker runs handlers outside of any transaction; a TestCase is one. What stands between them."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from django.db import connections, transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from django.test import TestCase
from psycopg.pq import TransactionStatus

from jobs.worker.connections import clean_connections

FROM_TESTCASE = "_from_testcase"  # Django's mark of the blocks around a test, which count as none


def is_of_testcase(block: transaction.Atomic) -> bool:
    return bool(getattr(block, FROM_TESTCASE, False))


def in_transactions() -> list[BaseDatabaseWrapper]:
    return [wrapper for wrapper in connections.all(initialized_only=True) if wrapper.in_atomic_block]


@contextmanager
def commits_heard() -> Iterator[None]:
    """Run what was registered with on_commit: a TestCase's transaction never commits, the worker's would have."""
    with ExitStack() as stack:
        for wrapper in in_transactions():
            if is_of_testcase(wrapper.atomic_blocks[0]):
                stack.enter_context(TestCase.captureOnCommitCallbacks(using=wrapper.alias, execute=True))
        yield


@contextmanager
def around_handler() -> Iterator[None]:
    """Whatever a handler leaves behind, the test's transaction can go on; without one, it is as in a worker."""
    wrappers = in_transactions()
    if not wrappers:
        try:
            yield
        finally:
            clean_connections()
        return
    with ExitStack() as stack:
        for wrapper in wrappers:
            stack.enter_context(guarded(wrapper))
        yield


@contextmanager
def guarded(wrapper: BaseDatabaseWrapper) -> Iterator[None]:
    """A savepoint that is used only if the handler met a database error which nothing can follow."""
    block = transaction.atomic(using=wrapper.alias)
    # Or a handler's atomic(durable=True), which is right in a worker, would be refused here.
    setattr(block, FROM_TESTCASE, is_of_testcase(wrapper.atomic_blocks[-1]))
    with block:
        yield
        if is_broken(wrapper):
            transaction.set_rollback(True, using=wrapper.alias)


def is_broken(wrapper: BaseDatabaseWrapper) -> bool:
    """PostgreSQL refuses every statement after one that failed."""
    if wrapper.vendor != "postgresql" or wrapper.connection is None:
        return False
    return bool(wrapper.connection.info.transaction_status == TransactionStatus.INERROR)
