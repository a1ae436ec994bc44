"""What Jobyard needs of the database beyond the ORM: its clock, its transactions, and patience with it."""

import functools
import random
import time
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

from django.db import DatabaseError, Error, InterfaceError, OperationalError, connection, transaction
from django.db.models import FloatField, Func, IntegerField
from django.db.models.functions import Now as StatementNow

P = ParamSpec("P")
R = TypeVar("R")

TRIES = 6
FIRST_PAUSE = 0.02
# deadlock, serialization failure, lock timeout: the transaction is gone, and the next try may pass
TRANSIENT_SQLSTATES = ("40P01", "40001", "55P03")
LOCK_TIMEOUT = "55P03"
# There is no such statement, or its columns have other types now: it is forgotten, and the next try sends all of it.
KEPT_STATEMENT_GONE = ("26000", "0A000")
MISSING = ("42P01", "42703")  # a table, a column
# classes: connection, transaction state (read only; ended, for it was idle too long), resources, intervention
PASSING = ("08", "25", "53", "57")


class Now(StatementNow):
    """The database's clock at the moment the row is looked at.

    Django's Now() is the time the statement began: after a wait for a row lock it is as old as the wait,
    and a lease that ended meanwhile would still look valid. Being volatile it serves no index: compare
    indexed columns with `StatementNow`.
    """

    def as_postgresql(self, compiler: Any, connection: Any, **context: Any) -> Any:
        return self.as_sql(compiler, connection, template="CLOCK_TIMESTAMP()", **context)


class SecondsSince(Func):
    """Seconds from a time to the database's present, as a plain number."""

    output_field = FloatField()

    def as_postgresql(self, compiler: Any, connection: Any, **context: Any) -> Any:
        template = "DATE_PART('epoch', CLOCK_TIMESTAMP() - %(expressions)s)"  # EXTRACT goes by way of a numeric
        return self.as_sql(compiler, connection, template=template, **context)

    def as_sqlite(self, compiler: Any, connection: Any, **context: Any) -> Any:
        template = "(JULIANDAY('now') - JULIANDAY(%(expressions)s)) * 86400.0"
        return self.as_sql(compiler, connection, template=template, **context)


class MinuteOf(Func):
    """The minute of a time, counted from the beginning of 1970."""

    output_field = IntegerField()
    SQL = {
        "postgresql": "CAST(FLOOR(EXTRACT(EPOCH FROM {}) / 60) AS integer)",
        "sqlite": "(STRFTIME('%%s', {}) / 60)",
    }

    def as_sql(self, compiler: Any, connection: Any, *args: Any, **context: Any) -> Any:
        moment, parameters = compiler.compile(self.source_expressions[0])
        return self.SQL[connection.vendor].format(moment), parameters


def is_postgres() -> bool:
    return connection.vendor == "postgresql"


def transactional(verb: Callable[P, R]) -> Callable[P, R]:
    """Run `verb` in a transaction: the caller's if there is one, else its own, tried again when it merely collided."""

    @functools.wraps(verb)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        if connection.in_atomic_block:
            with transaction.atomic():
                return verb(*args, **kwargs)
        return with_patience(functools.partial(_atomically, verb, *args, **kwargs))

    return call


def joining(verb: Callable[P, R]) -> Callable[P, R]:
    """As `transactional`, without a savepoint inside the caller's transaction: if the verb fails, so does that."""

    @functools.wraps(verb)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        if connection.in_atomic_block:
            return verb(*args, **kwargs)
        return with_patience(functools.partial(_atomically, verb, *args, **kwargs))

    return call


def _atomically(verb: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    with transaction.atomic():
        return verb(*args, **kwargs)


def with_patience(attempt: Callable[[], R]) -> R:
    """Call `attempt` until it no longer collides with another transaction, at most TRIES times."""
    for number in range(1, TRIES):
        try:
            return attempt()
        except DatabaseError as error:
            if not is_transient(error):
                raise
        time.sleep(random.uniform(0.5, 1.5) * FIRST_PAUSE * 2**number)
    return attempt()


def is_transient(error: Error) -> bool:
    return sqlstate_of(error) in TRANSIENT_SQLSTATES + KEPT_STATEMENT_GONE or "database is locked" in str(error)


def is_lock_timeout(error: Error) -> bool:
    return sqlstate_of(error) == LOCK_TIMEOUT


def is_passing(error: BaseException) -> bool:
    """Whether the database is away, busy, or a standby now: the same call may pass later, and nothing is wrong with it.

    Not by the class alone: of a session that was ended for its silence, and of a server that has become a standby,
    psycopg makes internal errors.
    """
    if not isinstance(error, Error) or is_unmigrated(error):
        return False  # waiting will not help
    return isinstance(error, (OperationalError, InterfaceError)) or sqlstate_of(error)[:2] in PASSING


def blames_database(error: BaseException) -> bool:
    """Whether nothing is wrong with what was to be written: the database is away or busy, or has not been migrated."""
    return isinstance(error, Error) and (is_passing(error) or is_unmigrated(error))


def sqlstate_of(error: Error) -> str:
    return getattr(error.__cause__, "sqlstate", None) or ""


def is_unmigrated(error: Exception) -> bool:
    """Whether a table or a column is missing."""
    return str(error).startswith("no such ") or getattr(error.__cause__, "sqlstate", None) in MISSING
