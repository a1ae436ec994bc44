"""Statements that the ORM builds once: to build the same one for each call took several times as long as to run it.

A queryset stays what says which rows a statement touches. Where each call has a value of its own it has a `Given`:

    @built_once
    def pending_in() -> Statement:
        return select(Job.objects.filter(queue=Given("queue"), status=Status.PENDING).values_list("id", "kind"))

    pending_in().rows(queue="slow")
"""

import re
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, wraps
from json import JSONDecoder
from typing import Any

from django.db import DEFAULT_DB_ALIAS, connection, connections, models
from django.db.models.expressions import Col
from django.db.models.sql import UpdateQuery

from jobs.db import SecondsSince, is_postgres
from jobs.given import Given
from jobs.lifecycle.sql.bound import Bound
from jobs.lifecycle.sql.insert import column_of
from jobs.lifecycle.sql.kept import PLACES
from jobs.lifecycle.sql.together import run_together

MOST_SHAPES = 200  # of one statement; there are a handful
scan: Callable[[str, int], tuple[Any, int]] = JSONDecoder().scan_once  # type: ignore[attr-defined]  # C's own
LIMIT = 1_234_567_890  # `[:LIMIT]` in a queryset: each call says its own `limit`


@dataclass(frozen=True)
class Statement:
    sql: str
    parameters: tuple[Any, ...]
    converters: tuple[tuple[int, Callable[[Any], Any]], ...] = ()

    def run(self, **given: Any) -> int:
        """Returns how many rows it wrote."""
        [done] = run_together([self.bound(**given)])
        return done.number

    def bound(self, **given: Any) -> Bound:
        """With its values, to be run later, together with others."""
        return Bound(self.sql, self.filled_in(given))

    def rows(self, **given: Any) -> Iterable[Sequence[Any]]:
        [done] = run_together([self.bound(**given)])
        return map(self.converted, done.rows) if self.converters else done.rows

    def filled_in(self, given: Mapping[str, Any]) -> list[Any]:
        here = connections[DEFAULT_DB_ALIAS]  # looked up once, and not for each of them
        return [part.adapted(given[part.name], here) if isinstance(part, Given) else part for part in self.parameters]

    def converted(self, row: tuple[Any, ...]) -> list[Any]:
        values = list(row)
        for place, convert in self.converters:
            if values[place] is not None:
                values[place] = convert(values[place])
        return values


def built_once(build: Callable[..., Statement]) -> Callable[..., Statement]:
    """Each database engine has its own words, and so has each shape: the arguments of `build`, no values among them."""

    @lru_cache(MOST_SHAPES)
    def built(vendor: str, *shape: Hashable) -> Statement:
        return build(*shape)

    @wraps(build)
    def call(*shape: Hashable) -> Statement:
        return built(connection.vendor, *shape)

    return call


def select(rows: "models.QuerySet[Any, Any]") -> Statement:
    """SELECT of the queryset's `values_list`."""
    compiler = rows.query.get_compiler(connection=connection)
    sql, parameters = compiler.as_sql()
    converters = tuple(
        (place, converter(expression, convert))
        for place, (several, expression) in compiler.get_converters([column for column, *_ in compiler.select]).items()
        for convert in several
        if not (is_postgres() and isinstance(expression, SecondsSince))  # its driver makes floats by itself
    )
    return Statement(*settled(*with_limit(sql, parameters)), converters)


def converter(expression: Any, convert: Callable[..., Any]) -> Callable[[Any], Any]:
    """What makes a value of what the driver returned."""
    if isinstance(expression, Col) and isinstance(expression.output_field, models.JSONField):
        return lambda text: scan(text, 0)[0]  # six times as fast as by way of the field
    if isinstance(expression.output_field, models.FloatField):
        return float
    return lambda value: convert(value, expression, connection)


def with_limit(sql: str, parameters: tuple[Any, ...]) -> tuple[str, tuple[Any, ...]]:
    before, found, after = sql.partition(f"LIMIT {LIMIT}")
    if not found:
        return sql, tuple(parameters)
    place = before.count("%s")
    return f"{before}LIMIT %s{after}", (*parameters[:place], Given("limit"), *parameters[place:])


def update(rows: models.QuerySet[Any], changes: Mapping[str, Any]) -> Statement:
    query: Any = rows.order_by().query.chain(UpdateQuery)
    query.add_update_values(changes)
    return Statement(*settled(*query.get_compiler(connection=connection).as_sql()))


def insert_from(model: type[models.Model], rows: models.QuerySet[Any], values: Mapping[str, Any]) -> Statement:
    """INSERT … SELECT: a new row for each of `rows`, made inside the database; `values` are expressions over it."""
    named = {f"new_{field}": expression for field, expression in values.items()}
    sql, parameters = rows.order_by("pk").annotate(**named).values_list(*named).query.sql_with_params()
    table = connection.ops.quote_name(model._meta.db_table)
    names = ", ".join(column_of(model, field) for field in values)
    return Statement(*settled(f"INSERT INTO {table} ({names}) {sql}", parameters))


def settled(sql: str, parameters: Sequence[Any]) -> tuple[str, tuple[Any, ...]]:
    """What is never given stands in the text: only then does PostgreSQL see which partial index a kept plan may use."""
    if not is_postgres():
        return sql, tuple(parameters)
    values = iter(parameters)
    given: list[Given] = []

    def put_in(found: re.Match[str]) -> str:
        if found[0] == "%%":
            return "%%"
        if isinstance(value := next(values), Given):
            given.append(value)
            return "%s"
        literal = connection.ops.compose_sql("%s", [value])  # type: ignore[attr-defined]  # PostgreSQL's has it
        return str(literal).replace("%", "%%")

    return PLACES.sub(put_in, sql), tuple(given)
