"""How the transactions of a worker begin: no lock is waited for or held without end, no plan is bad for a large table.

After a while a wait for a lock fails, and its transaction is tried again. One whose worker falls silent in the middle
(frozen, or behind a proxy that has lost it, while TCP sees nothing wrong) the server ends, and its rows are free.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

from django.db import DEFAULT_DB_ALIAS, connection, connections
from django.db.backends.base.base import BaseDatabaseWrapper

LOCK_WAIT_MS, SILENCE_MS = 1000, 30_000
HOW_TO_BEGIN = "_start_transaction_under_autocommit"  # what Django calls, where a connection has it, to begin
# PostgreSQL keeps the plans of a worker's statements (`lifecycle/sql/kept.py`), also those it made while a table was
# empty. What it would read whole then, or sort, it is to find by its index from the start. Compiling is for long reads.
PLANNER = {"plan_cache_mode": "force_generic_plan", "enable_seqscan": "off", "enable_bitmapscan": "off", "jit": "off"}


@contextmanager
def lock_waits_limited() -> Iterator[None]:
    """For a thread of a worker, or one that answers it. Not for one that is inside a transaction already.

    The limit is each transaction's own: behind a pooler, what is set for a session is passed on to strangers.
    """
    here = connections[DEFAULT_DB_ALIAS]  # not `django.db.connection`, which looks it up for each word
    if here.vendor != "postgresql":
        yield
        return
    setattr(here, HOW_TO_BEGIN, begin_with_limit)
    try:
        yield
    finally:
        delattr(here, HOW_TO_BEGIN)


def begin_with_limit() -> None:
    """By one call, as BEGIN alone takes."""
    level = connection.connection.isolation_level  # as OPTIONS may say
    isolation = f" ISOLATION LEVEL {level.name.replace('_', ' ')}" if level else ""
    with connection.cursor() as cursor:
        said = (
            f"SET LOCAL {name} = '{value}'" for name, value in limits().items()
        )  # no SELECT: it would fix what is seen
        cursor.execute("; ".join([f"BEGIN{isolation}", *said]))


@cache
def beginning() -> str:
    """What a string that is a transaction says first, for itself alone."""
    said = (f"set_config('{name}', '{value}', true)" for name, value in limits().items())
    return f"SELECT {', '.join(said)}"


def limits() -> dict[str, str]:
    return {"lock_timeout": f"{LOCK_WAIT_MS}ms", "idle_in_transaction_session_timeout": f"{SILENCE_MS}ms", **PLANNER}


def allow_silence() -> None:
    """For the rest of this transaction, as long as the server allows by itself: foreign code is about to run in it."""
    if by_index_alone():
        with connection.cursor() as cursor:
            cursor.execute("SET LOCAL idle_in_transaction_session_timeout TO DEFAULT")


def by_index_alone() -> bool:
    """Whether this is such a transaction: then a plan may be kept."""
    here = connections[DEFAULT_DB_ALIAS]
    return here.in_atomic_block and are_limited(here)


def are_limited(here: BaseDatabaseWrapper) -> bool:
    """Whether transactions begin like this. (SQLite's have such a beginning of their own.)"""
    return here.vendor == "postgresql" and hasattr(here, HOW_TO_BEGIN)


def begins_by_itself() -> bool:
    """Whether a string of statements can be such a transaction without BEGIN: then it is what the session is set to."""
    here = connections[DEFAULT_DB_ALIAS]
    if not are_limited(here) or here.in_atomic_block:
        return False
    here.ensure_connection()
    return bool(here.connection.isolation_level is None)
