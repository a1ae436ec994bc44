"""INSERT … ON CONFLICT DO NOTHING that tells which rows went in: Django's own returns nothing of them."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from django.db import connection, models

from jobs.lifecycle.sql.bound import Bound

Row = Sequence[Any]
# One statement takes so many parameters at most (SQLite's limit is 32,766).
MAX_PARAMETERS = 30_000


def insert_new(
    model: type[models.Model],
    columns: dict[str, str],
    rows: Sequence[Row],
    returning: Iterable[str],
) -> list[tuple[Any, ...]]:
    """Insert `rows` and return what went in.

    `columns` maps a field's name to the SQL of its value, `%s` standing for the next parameter of the row.
    Parameters are prepared by the caller; rows that meet a unique index are left out silently.
    """
    wanted = ", ".join(column_of(model, field) for field in returning)
    inserted: list[tuple[Any, ...]] = []
    with connection.cursor() as cursor:
        for insert in inserts(model, columns, rows):
            cursor.execute(f"{insert.sql} ON CONFLICT DO NOTHING RETURNING {wanted}", insert.parameters)
            inserted += cursor.fetchall()
    return inserted


def insert_unless_known(model: type[models.Model], columns: dict[str, str], row: Row) -> Bound:
    """One row, left out silently if it meets a unique index: how many were written tells."""
    [insert] = inserts(model, columns, [row])
    return Bound(f"{insert.sql} ON CONFLICT DO NOTHING", insert.parameters, ageless=True)


def inserts(model: type[models.Model], columns: dict[str, str], rows: Sequence[Row]) -> Iterator[Bound]:
    """As few statements as there can be, for rows that cannot meet others."""
    table = connection.ops.quote_name(model._meta.db_table)
    names = ", ".join(column_of(model, field) for field in columns)
    values = "(" + ", ".join(columns.values()) + ")"
    size = max(1, MAX_PARAMETERS // max(1, values.count("%s")))
    for start in range(0, len(rows), size):
        chunk = rows[start : start + size]
        many = ", ".join([values] * len(chunk))
        sql = f"INSERT INTO {table} ({names}) VALUES {many}"  # noqa: S608  names of our own columns  # nosec B608
        yield Bound(sql, [value for row in chunk for value in row], ageless=True)


def column_of(model: type[models.Model], field: str) -> str:
    return connection.ops.quote_name(field_of(model, field).column)


def field_of(model: type[models.Model], name: str) -> Any:
    return model._meta.get_field(name)


def prepare(model: type[models.Model], field: str, value: Any) -> Any:
    """A Python value as this database's driver wants it for that field."""
    return field_of(model, field).get_db_prep_save(value, connection)


def now_sql() -> str:
    """The database's clock, as it stands when the statement begins."""
    if connection.vendor == "postgresql":
        return "STATEMENT_TIMESTAMP()"
    return "STRFTIME('%%Y-%%m-%%d %%H:%%M:%%f', 'now')"
