"""How the transactions of a worker begin: no row lock is waited for without end, and no plan is bad for a large table.

After a while a wait for a lock fails, and its transaction is tried again.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connection

LOCK_WAIT_MS = 5000
HOW_TO_BEGIN = "_start_transaction_under_autocommit"  # what Django calls, where a connection has it, to begin
# PostgreSQL keeps the plans of a worker's statements (`lifecycle/sql/kept.py`), also those it made while a table was
# empty. What it would read whole then, or sort, it is to find by its index from the start. Compiling is for long reads.
PLANNER = {"plan_cache_mode": "force_generic_plan", "enable_seqscan": "off", "enable_bitmapscan": "off", "jit": "off"}
PLANNED_SO = ", ".join(f"set_config('{name}', '{value}', true)" for name, value in PLANNER.items())


@contextmanager
def lock_waits_limited() -> Iterator[None]:
    """For a thread of a worker, or one that answers it. Not for one that is inside a transaction already.

    The limit is each transaction's own: behind a pooler, what is set for a session is passed on to strangers.
    """
    if connection.vendor != "postgresql":
        yield
        return
    setattr(connection, HOW_TO_BEGIN, begin_with_limit)
    try:
        yield
    finally:
        delattr(connection, HOW_TO_BEGIN)


def begin_with_limit() -> None:
    """By one call, as BEGIN alone takes."""
    level = connection.connection.isolation_level  # as OPTIONS may say
    isolation = f" ISOLATION LEVEL {level.name.replace('_', ' ')}" if level else ""
    with connection.cursor() as cursor:
        cursor.execute(f"BEGIN{isolation}; {beginning()}")


def beginning() -> str:
    """What is said first, for this transaction alone."""
    return f"SELECT set_config('lock_timeout', '{LOCK_WAIT_MS}ms', true), {PLANNED_SO}"


def by_index_alone() -> bool:
    """Whether this is such a transaction: then a plan may be kept."""
    return connection.in_atomic_block and are_limited()


def are_limited() -> bool:
    """Whether transactions begin like this."""
    return hasattr(connection, HOW_TO_BEGIN)


def begins_by_itself() -> bool:
    """Whether a string of statements can be such a transaction without BEGIN: then it is what the session is set to."""
    if not are_limited() or connection.in_atomic_block:
        return False
    connection.ensure_connection()
    return connection.connection.isolation_level is None
