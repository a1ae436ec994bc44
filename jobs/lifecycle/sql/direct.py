"""Kept statements, called past the cursors of Django and its driver: for one job they take as long as PostgreSQL.

Where those would do more (begin a transaction, show statements to somebody, keep one that is new, put in a value of
another type) nothing is called here, and the statements go the usual way.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from datetime import timedelta
from typing import Any
from uuid import UUID

from django.db import DEFAULT_DB_ALIAS, DatabaseError, connections
from django.db.backends.base.base import BaseDatabaseWrapper

from jobs.lifecycle.sql.bound import Bound, Done
from jobs.lifecycle.sql.kept import Shelf, may_keep, shelves

try:
    from psycopg import errors, pq
    from psycopg.adapt import Transformer
    from psycopg.generators import execute, fetch_many, send

    DRIVER_IS_KNOWN = True
except ImportError:  # there is none, or another one than this was written for
    DRIVER_IS_KNOWN = False

Call = tuple[bytes, list[bytes | None]]  # a statement's name, and its values as text


def call(statements: Sequence[Bound], *, begins: bool = False) -> list[Done] | None:
    """What became of them, or None where they have to go the usual way; `begins` as in `kept.execute`."""
    wrapper = connections[DEFAULT_DB_ALIAS]  # looked up once: through `django.db.connection` it would be each time
    if not DRIVER_IS_KNOWN or wrapper.vendor != "postgresql" or is_watched(wrapper):
        return None
    wrapper.close_if_health_check_failed()  # as a cursor does
    wrapper.ensure_connection()
    shelf = shelves.get(wrapper.connection)
    calls = calls_of(statements, shelf) if shelf else None
    if shelf is None or calls is None or not is_free(wrapper) or not all(may_keep(each, begins) for each in statements):
        return None
    wrapper.validate_no_broken_transaction()
    try:
        with wrapper.wrap_database_errors:
            return exchange(wrapper.connection, calls)
    except DatabaseError as error:
        shelf.forget_if_gone(error)
        raise
    finally:
        leave_nothing_unread(wrapper)


def is_watched(wrapper: BaseDatabaseWrapper) -> bool:
    """Whether somebody wants to see each statement, or has replaced its cursor, as tests do to forbid them all."""
    return bool(wrapper.execute_wrappers or wrapper.queries_logged or "cursor" in vars(wrapper))


def is_free(wrapper: BaseDatabaseWrapper) -> bool:
    """Whether no transaction has to begin with these, and no other answers are awaited."""
    driver: Any = wrapper.connection
    begun = driver.autocommit or driver.pgconn.transaction_status == pq.TransactionStatus.INTRANS
    return bool(begun and driver.pgconn.pipeline_status == pq.PipelineStatus.OFF)


def leave_nothing_unread(wrapper: BaseDatabaseWrapper) -> None:
    """Who was interrupted, or lost its server, has answers to come: they must not be given to who comes next."""
    pgconn = wrapper.connection.pgconn
    at_work = pgconn.transaction_status == pq.TransactionStatus.ACTIVE
    if at_work or pgconn.status != pq.ConnStatus.OK or pgconn.pipeline_status != pq.PipelineStatus.OFF:
        wrapper.connection.close()  # and not back into a pool
        wrapper.close()


def calls_of(statements: Sequence[Bound], shelf: Shelf) -> list[Call] | None:
    calls: list[Call] = []
    for statement in statements:
        name = shelf.names.get(statement.sql)
        if name is None:
            return None
        try:
            values = [AS_TEXT[type(value)](value) for value in statement.parameters]
        except KeyError:
            return None
        if any(value and b"\0" in value for value in values):
            return None  # it would end there: the driver refuses it
        calls.append((name.encode(), values))
    return calls


def exchange(driver: Any, calls: Sequence[Call]) -> list[Done]:
    """One round trip, and a transaction unless there is one. It waits as the driver does: Ctrl-C gets through."""
    with driver.lock:
        results = in_pipeline(driver, calls) if len(calls) > 1 else alone(driver, *calls)
    for result in results:
        if result.status not in (pq.ExecStatus.TUPLES_OK, pq.ExecStatus.COMMAND_OK):
            raise errors.error_from_result(result, encoding="utf-8")
    reader = Transformer(driver)
    return [done(result, reader) for result in results]


def alone(driver: Any, call: Call) -> Sequence[Any]:
    """Its answer, and one more where it cannot be committed. A pipeline of one would take half as long again."""
    driver.pgconn.send_query_prepared(*call)
    results: Sequence[Any] = driver.wait(execute(driver.pgconn))
    return results


def in_pipeline(driver: Any, calls: Sequence[Call]) -> Sequence[Any]:
    driver.pgconn.enter_pipeline_mode()
    for name, values in calls:
        driver.pgconn.send_query_prepared(name, values)
    driver.pgconn.pipeline_sync()
    driver.wait(send(driver.pgconn))  # a socket takes only so much at once
    results = list(answers(driver, len(calls)))
    driver.pgconn.exit_pipeline_mode()
    return results


def answers(driver: Any, number: int) -> Iterator[Any]:
    """One for each statement, and one more where they cannot be committed."""
    for _ in range(number + 2):
        [result, *_] = driver.wait(fetch_many(driver.pgconn))
        if result.status == pq.ExecStatus.PIPELINE_SYNC:
            return
        yield result


def done(result: Any, reader: Any) -> Done:
    if result.status == pq.ExecStatus.COMMAND_OK:
        return Done(result.command_tuples or 0, [])
    reader.set_pgresult(result)
    return Done(result.ntuples, reader.load_rows(0, result.ntuples, tuple))


def as_array(values: Sequence[Any]) -> bytes:
    return b"{%s}" % b",".join(b'"%s"' % ESCAPED.sub(rb"\\\g<0>", PLAIN[type(value)](value)) for value in values)


def as_interval(duration: timedelta) -> bytes:
    return b"%d days %d seconds %d microseconds" % (duration.days, duration.seconds, duration.microseconds)


ESCAPED = re.compile(rb'["\\]')
PLAIN: dict[type, Callable[[Any], bytes]] = {
    str: str.encode,
    int: lambda number: b"%d" % number,
    UUID: lambda number: str(number).encode(),
}
AS_TEXT: dict[type, Callable[[Any], bytes | None]] = {
    **PLAIN,
    timedelta: as_interval,
    list: as_array,
    type(None): lambda nothing: None,
}
