"""Database connections of a worker: a silent one is given up, an unclean one is not built upon."""

from contextlib import suppress
from math import ceil
from typing import Any

from django.db import connections
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.signals import connection_created
from psycopg.pq import TransactionStatus

from jobs.conf import conf

SHORTEST_SILENCE = 2.0  # seconds
PROBES = 3


def notice_silence() -> None:
    """Who is switched off, or forgotten by a firewall, says nothing, ever: without this, TCP waits for hours.

    For all connections that this process and its children will open; what a project's OPTIONS say comes first.
    """
    for wrapper in connections.all():
        if wrapper.vendor == "postgresql":
            shared = wrapper.settings_dict  # by the connections of all threads
            shared["OPTIONS"] = silence_options() | shared.get("OPTIONS", {})
    connection_created.connect(let_server_notice_silence)


def silence_options() -> dict[str, Any]:
    """Of libpq. A heartbeat's length of silence is enough: there is time for another one before a lease ends."""
    return {
        "connect_timeout": ceil(longest_silence()),
        "keepalives_idle": probe_every(),
        "keepalives_interval": probe_every(),
        "keepalives_count": PROBES,
        "tcp_user_timeout": int(1000 * longest_silence()),
    }


def let_server_notice_silence(connection: BaseDatabaseWrapper, **signal: Any) -> None:
    """Else a machine that loses its power in a transaction keeps its rows locked, and no reaper could take them."""
    if connection.vendor == "postgresql":
        every = probe_every()
        with connection.cursor() as cursor:
            cursor.execute(
                f"SET tcp_keepalives_idle = {every}; SET tcp_keepalives_interval = {every}; "
                f"SET tcp_keepalives_count = {PROBES}"
            )


def longest_silence() -> float:
    return max(SHORTEST_SILENCE, conf.HEARTBEAT_INTERVAL)


def probe_every() -> int:
    return ceil(longest_silence() / PROBES)


class ConnectionsMade:
    """Whether a handler of this process ever made a connection: to look for them takes a while each time."""

    def __init__(self) -> None:
        self.any = False
        connection_created.connect(self.note)

    def note(self, **about: object) -> None:
        self.any = True


def clean_connections() -> bool:
    """After a handler: whatever it left open, or an interruption left half done, is not built upon.

    Returns whether there are connections at all.
    """
    opened = connections.all(initialized_only=True)
    for wrapper in opened:
        if is_unclean(wrapper):
            replace(wrapper)
    return bool(opened)


def is_unclean(wrapper: BaseDatabaseWrapper) -> bool:
    """Whether a transaction is open, or a statement under way; or nobody can tell."""
    if wrapper.connection is None:
        return wrapper.in_atomic_block
    try:
        return wrapper.in_atomic_block or not wrapper.autocommit or is_busy(wrapper)
    except Exception:  # of a driver: what the handler has done, it has done
        return True


def is_busy(wrapper: BaseDatabaseWrapper) -> bool:
    if wrapper.vendor == "postgresql":
        return bool(wrapper.connection.info.transaction_status != TransactionStatus.IDLE)
    return getattr(wrapper.connection, "in_transaction", False) is True  # SQLite's driver says so, others do not know


def replace(old: BaseDatabaseWrapper) -> None:
    """A connection inside a transaction cannot be closed by Django's own means: a new one takes its place."""
    connections[old.alias] = connections.create_connection(old.alias)
    if old.connection is not None:
        with suppress(Exception):  # it is given up, in whatever state it is
            if old.vendor == "postgresql":
                old.connection.cancel()  # or the server would go on with a statement that nobody waits for
            old.connection.close()
