"""Statements that PostgreSQL keeps: to read and plan one takes longer than to run it for one job.

They are kept and called by name (PREPARE, EXECUTE), so that several still go into one string.
"""

import re
from collections import Counter
from collections.abc import Sequence
from typing import Any
from weakref import WeakKeyDictionary

from django.db import DatabaseError, connection
from django.db.backends.base.base import BaseDatabaseWrapper

from jobs.db import KEPT_STATEMENT_GONE, sqlstate_of
from jobs.lifecycle.sql.bound import AND, Bound
from jobs.lock_waits import by_index_alone

WORTH_KEEPING = 3  # uses on one connection: one that is opened for a request or two keeps nothing
MOST = 200  # statements that one connection keeps: there are some dozens
PLACES = re.compile("%%|%s")


class Shelf:
    """What one connection keeps."""

    def __init__(self) -> None:
        self.uses: Counter[str] = Counter()
        self.names: dict[str, str] = {}
        self.made = 0
        self.is_ours: bool | None = None

    def keeps(self, statement: Bound) -> bool:
        if statement.sql in self.names:
            return True
        if len(self.uses) > MOST or len(self.names) >= MOST:
            return False
        self.uses[statement.sql] += 1
        if self.uses[statement.sql] < WORTH_KEEPING:
            return False
        if self.is_ours is None:
            self.is_ours = leads_to_one_session(connection)
        return self.is_ours

    def new_name(self) -> str:
        """Never twice: whether a string that failed had kept something is not known."""
        self.made += 1
        return f"jobyard_{self.made}"

    def forget(self) -> None:
        self.uses.clear()
        self.names.clear()

    def forget_if_gone(self, error: DatabaseError) -> None:
        if sqlstate_of(error) in KEPT_STATEMENT_GONE:
            self.forget()


shelves: "WeakKeyDictionary[Any, Shelf]" = WeakKeyDictionary()


def execute(cursor: Any, statements: Sequence[Bound], *, begins: bool = False) -> None:
    """Run them as one string. The cursor stands at the answer to the first.

    A string that `begins` a transaction of a worker says so by its first statement: plans may be kept, as inside one.
    """
    shelf = shelves.setdefault(cursor.connection, Shelf())
    new: dict[str, str] = {}
    calls = [called(each, shelf, new) if may_keep(each, begins) else each for each in statements]
    keeping = [f"PREPARE {name} AS {numbered(sql)}" for sql, name in new.items()]
    try:
        cursor.execute(
            AND.join([*keeping, *(call.sql for call in calls)]),
            [value for call in calls for value in call.parameters],
        )
    except DatabaseError as error:
        shelf.forget_if_gone(error)
        raise
    shelf.names |= new
    for _ in keeping:
        cursor.nextset()


def may_keep(statement: Bound, begins: bool) -> bool:
    """Whether a plan of it stays good however large the tables grow."""
    return statement.ageless or begins or by_index_alone()


def called(statement: Bound, shelf: Shelf, new: dict[str, str]) -> Bound:
    """The statement as it is sent: by its name, if it is kept, or is to be from now on."""
    if not shelf.keeps(statement):
        return statement
    name = shelf.names.get(statement.sql) or new.get(statement.sql)
    if name is None:
        name = new[statement.sql] = shelf.new_name()
    values = ", ".join(["%s"] * len(statement.parameters))
    return Bound(f"EXECUTE {name}({values})" if values else f"EXECUTE {name}", statement.parameters)


def numbered(sql: str) -> str:
    number = iter(range(1, len(sql)))
    return PLACES.sub(lambda found: f"${next(number)}" if found[0] == "%s" else found[0], sql)


def leads_to_one_session(connection: BaseDatabaseWrapper) -> bool:
    """Not where a pooler is in between: it hands what is kept to strangers, and us to sessions that keep nothing.

    Who has one says so to Django; who did not is found out, for a pooler makes up the number of the session.
    """
    if connection.settings_dict.get("DISABLE_SERVER_SIDE_CURSORS"):
        return False
    connection.ensure_connection()
    with connection.wrap_database_errors:
        [session] = connection.connection.execute("SELECT pg_backend_pid()").fetchone()
    return bool(session == connection.connection.info.backend_pid)
