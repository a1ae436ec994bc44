"""Hears that queues have work, for a thread that waits for it: by NOTIFY where that gets through, and by a bell."""

import select
import socket
from typing import Any

from django.db import connection
from psycopg import sql

from jobs.lifecycle import wake_up


def hear_wake_ups() -> bool:
    """From now on, by this thread's connection. Behind a transaction pooler nothing is heard: then it is looked
    now and then."""
    if not wake_up.by_notify():
        return False
    connection.ensure_connection()
    raw: Any = connection.connection
    raw.execute(sql.SQL("LISTEN {}").format(sql.Identifier(wake_up.CHANNEL)))
    return True


def wait_for(bell: socket.socket, seconds: float, hears: bool = False) -> None:
    """Until the bell rings, a queue has work (`hears`), or the time is over."""
    raw: Any = connection.connection if hears else None
    if raw is not None and list(raw.notifies(timeout=0)):
        return  # it came with the answer to a query, which may have looked before: the socket has nothing more to say
    ready, _, _ = select.select([bell, raw] if raw is not None else [bell], [], [], seconds)
    if bell in ready:
        bell.recv(4096)
    if raw in ready:
        list(raw.notifies(timeout=0))  # raises when the connection was lost
