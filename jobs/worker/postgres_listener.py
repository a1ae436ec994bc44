"""Hears PostgreSQL's notifications on a connection of its own."""

from contextlib import closing
from types import TracebackType
from typing import Any
from uuid import uuid4

from django.db import DEFAULT_DB_ALIAS, Error, connections
from django.db.backends.base.base import BaseDatabaseWrapper
from psycopg import Error as PsycopgError
from psycopg import sql

from jobs.worker.queue_client import NoWakeUps, QueueUnavailable
from jobs.worker.repeating import PATIENCE

PROOF = "@proof"  # a word, not a queue: nobody else looks for work because of it
PROOF_WITHIN = 5.0  # seconds


class PostgresListener:
    shared, patience = False, PATIENCE

    def __init__(self, channel: str) -> None:
        self.channel = channel
        self._wrapper: BaseDatabaseWrapper | None = None

    def __enter__(self) -> "PostgresListener":
        try:
            self._wrapper = connections.create_connection(DEFAULT_DB_ALIAS)
            self._wrapper.ensure_connection()
            self._connection.execute(sql.SQL("LISTEN {}").format(sql.Identifier(self.channel)))
            self._prove()
        except (Error, PsycopgError) as error:
            self._close()
            raise QueueUnavailable(str(error).strip()) from error
        except NoWakeUps:
            self._close()
            raise
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._close()

    def wait(self, seconds: float, most: int = 1) -> list[str]:
        try:
            heard = list(self._connection.notifies(timeout=seconds, stop_after=1))
        except PsycopgError as error:
            raise QueueUnavailable(str(error).strip()) from error
        return [notice.payload for notice in heard]

    def _prove(self) -> None:
        """Behind a pooler that gives each transaction another connection, LISTEN succeeds and nothing is ever heard."""
        proof = f"{PROOF} {uuid4()}"
        with closing(connections.create_connection(DEFAULT_DB_ALIAS)) as other, other.cursor() as cursor:
            cursor.execute("SELECT pg_notify(%s, %s)", [self.channel, proof])
        for notification in self._connection.notifies(timeout=PROOF_WITHIN):
            if notification.payload == proof:
                return
        raise NoWakeUps(
            "Notifications do not get through (a transaction pooler?): this worker polls instead. "
            "Set JOBS_DISPATCH=polling to silence this."
        )

    @property
    def _connection(self) -> Any:
        assert self._wrapper is not None
        return self._wrapper.connection

    def _close(self) -> None:
        if self._wrapper is not None:
            self._wrapper.close()
