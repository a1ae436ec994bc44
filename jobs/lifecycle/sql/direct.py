"""Kept statements, called past the cursors of Django and its driver: for one job they take as long as PostgreSQL.

Where those would do more (begin a transaction, show statements to somebody, keep one that is new, put in a value of
another type) nothing is called here, and the statements go the usual way.
"""

import re
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any
from uuid import UUID

from django.db import DEFAULT_DB_ALIAS, DatabaseError, connections
from django.db.backends.base.base import BaseDatabaseWrapper
from django.utils.asyncio import async_unsafe

from jobs.lifecycle.sql.bound import Bound, Done
from jobs.lifecycle.sql.kept import Shelf, may_keep, shelves

try:
    from psycopg import errors, pq
    from psycopg.adapt import Transformer
    from psycopg.generators import fetch_many
except ImportError:
    pass  # no PostgreSQL here: nothing is ever kept

Call = tuple[bytes, list[bytes | None]]  # a statement's name, and its values as text


@async_unsafe
def call(statements: Sequence[Bound], *, begins: bool = False) -> list[Done] | None:
    """What became of them, or None where they have to go the usual way; `begins` as in `kept.execute`."""
    wrapper = connections[DEFAULT_DB_ALIAS]  # looked up once: through `django.db.connection` it would be each time
    has_session = wrapper.vendor == "postgresql" and wrapper.connection is not None
    shelf = shelves.get(wrapper.connection) if has_session else None
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
    except BaseException:  # Ctrl-C, or a signal's: who comes next must not be given the rest of these answers
        wrapper.close()
        raise


def is_free(wrapper: BaseDatabaseWrapper) -> bool:
    """Whether nobody looks at each statement, and no transaction has to begin with these."""
    if wrapper.execute_wrappers or wrapper.queries_logged:
        return False
    driver: Any = wrapper.connection
    return bool(driver.autocommit or driver.pgconn.transaction_status == pq.TransactionStatus.INTRANS)


def calls_of(statements: Sequence[Bound], shelf: Shelf) -> list[Call] | None:
    calls: list[Call] = []
    for statement in statements:
        name = shelf.names.get(statement.sql)
        if name is None:
            return None
        try:
            calls.append((name.encode(), [AS_TEXT[type(value)](value) for value in statement.parameters]))
        except KeyError:
            return None
    return calls


def exchange(driver: Any, calls: Sequence[Call]) -> list[Done]:
    """One round trip, and a transaction unless there is one. It waits as the driver does: Ctrl-C gets through."""
    with driver.lock:
        driver.pgconn.enter_pipeline_mode()
        for name, values in calls:
            driver.pgconn.send_query_prepared(name, values)
        driver.pgconn.pipeline_sync()
        results = [driver.wait(fetch_many(driver.pgconn))[0] for _ in (*calls, "and the end of them")]
        driver.pgconn.exit_pipeline_mode()
    reader = Transformer(driver)
    return [done(result, reader) for result in results[:-1]]


def done(result: Any, reader: Any) -> Done:
    if result.status == pq.ExecStatus.TUPLES_OK:
        reader.set_pgresult(result)
        return Done(result.ntuples, reader.load_rows(0, result.ntuples, tuple))
    if result.status == pq.ExecStatus.COMMAND_OK:
        return Done(result.command_tuples or 0, [])
    raise errors.error_from_result(result, encoding="utf-8")


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
