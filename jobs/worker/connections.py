"""Database connections of threads that run handlers, whatever those leave behind."""

from contextlib import suppress

from django.db import connections
from django.db.backends.base.base import BaseDatabaseWrapper
from psycopg.pq import TransactionStatus


def clean_connections() -> bool:
    """After a handler: whatever it left open, or an interruption left half done, is not built upon.

    Returns whether there are connections at all.
    """
    opened = connections.all(initialized_only=True)
    for wrapper in opened:
        if left_unclean(wrapper):
            replace(wrapper)
    return bool(opened)


def left_unclean(wrapper: BaseDatabaseWrapper) -> bool:
    """Whether a transaction is open, or a statement under way."""
    if wrapper.connection is None:
        return wrapper.in_atomic_block
    if wrapper.vendor == "postgresql":
        busy = wrapper.connection.info.transaction_status != TransactionStatus.IDLE
    else:
        busy = wrapper.connection.in_transaction
    return wrapper.in_atomic_block or not wrapper.autocommit or busy


def replace(old: BaseDatabaseWrapper) -> None:
    """A connection inside a transaction cannot be closed by Django's own means: a new one takes its place."""
    connections[old.alias] = connections.create_connection(old.alias)
    if old.connection is not None:
        with suppress(Exception):  # it is given up, in whatever state it is
            if old.vendor == "postgresql":
                old.connection.cancel()  # or the server would go on with a statement that nobody waits for
            old.connection.close()
