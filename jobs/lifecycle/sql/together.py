"""Statements that wait for no answer of each other: PostgreSQL gets them in one round trip."""

from collections.abc import Callable, Sequence
from typing import Any

from django.db import connection, transaction

from jobs import lock_waits
from jobs.lifecycle.sql import direct, kept
from jobs.lifecycle.sql.bound import Bound, Done


def run_together(statements: Sequence[Bound]) -> list[Done]:
    """Run them one after the other. Outside of a transaction, PostgreSQL makes them one; elsewhere the caller must."""
    if (done := direct.call(statements)) is not None:
        return done
    with connection.cursor() as cursor:
        if not one_string_may_hold_several():
            return [executed(cursor, statement) for statement in statements]
        kept.execute(cursor, statements)
        return answers_of(cursor)


def run_as_transaction(statements: Sequence[Bound]) -> list[Done]:
    """The same as a transaction that begins and ends with them, in one round trip where it can be one: PostgreSQL's."""
    if not lock_waits.begins_by_itself():
        with transaction.atomic():
            return run_together(statements)
    statements = [Bound(lock_waits.beginning(), (), ageless=True), *statements]
    if (done := direct.call(statements, begins=True)) is not None:
        return done[1:]
    with connection.cursor() as cursor:
        kept.execute(cursor, statements, begins=True)
        return answers_of(cursor)[1:]


def one_string_may_hold_several() -> bool:
    """Not where the server puts the values in: that protocol knows only one statement at a time."""
    return connection.vendor == "postgresql" and not getattr(connection.features, "uses_server_side_binding", False)


def executed(cursor: Any, statement: Bound) -> Done:
    cursor.execute(statement.sql, statement.parameters)
    return answer_of(cursor)


def answers_of(cursor: Any) -> list[Done]:
    done = [answer_of(cursor)]
    while cursor.nextset():
        done.append(answer_of(cursor))
    return done


def answer_of(cursor: Any) -> Done:
    return Done(cursor.rowcount, cursor.fetchall() if has_rows(cursor) else [])


def has_rows(cursor: Any) -> bool:
    """Of PostgreSQL's driver not by its `description`: that would make an object of each column first."""
    result = getattr(cursor, "pgresult", None)
    return bool(result.nfields if result else cursor.description)


class Writes:
    """What a verb has decided to write: collected first, then run together."""

    def __init__(self) -> None:
        self._statements: list[Bound] = []
        self._expected: dict[int, tuple[int, Callable[[int], Exception]]] = {}
        self._afterwards: list[Callable[[], None]] = []

    def add(self, *statements: Bound) -> None:
        self._statements += statements

    def expect(self, rows: int, statement: Bound, otherwise: Callable[[int], Exception]) -> None:
        """A statement that must write so many rows, or all is undone with the error made of their number."""
        self._expected[len(self._statements)] = rows, otherwise
        self._statements.append(statement)

    def then(self, step: Callable[[], None]) -> None:
        """What is to be done once all this is written."""
        self._afterwards.append(step)

    def run(self) -> None:
        if not self._statements:
            return
        statements, expected, afterwards = self._statements, self._expected, self._afterwards
        self._statements, self._expected, self._afterwards = [], {}, []
        done = run_together(statements)
        for place, (rows, otherwise) in expected.items():
            if done[place].number != rows:
                raise otherwise(done[place].number)
        for step in afterwards:
            step()
