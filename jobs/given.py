"""Values that a statement is told each time it runs, so that it need be built only once (`lifecycle/sql`)."""

import json
from collections.abc import Collection, Iterable, Mapping
from datetime import timedelta
from typing import Any
from uuid import UUID

from django.db import models
from django.db.models import Expression, F, Func

TEXT = models.TextField()
TEXTS = ("TextField", "CharField")
TAKEN_AS_THEY_ARE = (UUID, timedelta, int)  # by PostgreSQL's driver: to ask the field takes longer than all else


class Given(Expression):
    """Stands in a queryset for a value that is not known yet. `field` says how the database wants it."""

    def __init__(self, name: str, field: "models.Field[Any, Any]" = TEXT) -> None:
        super().__init__(output_field=field)
        self.name = name

    def as_sql(self, compiler: Any, connection: Any) -> tuple[str, tuple[Any, ...]]:
        """PostgreSQL is told what it will be, for it may read the statement long before the value. Text it expects."""
        if connection.vendor != "postgresql" or self.output_field.get_internal_type() in TEXTS:
            return "%s", (self,)
        return f"%s::{self.output_field.db_type(connection)}", (self,)

    def adapted(self, value: Any, connection: Any) -> Any:
        """The value as this database's driver takes it; text and numbers need nothing."""
        if self.output_field is TEXT or (connection.vendor == "postgresql" and type(value) in TAKEN_AS_THEY_ARE):
            return value
        return self.output_field.get_db_prep_save(value, connection)


class GivenList(Given):
    """Many values, for `Among`: they are one parameter."""

    def adapted(self, value: Iterable[Any], connection: Any) -> Any:
        listed = self.listed(value, connection)
        if connection.vendor == "postgresql" and listed and isinstance(listed[0], int):
            return f"{{{','.join(map(str, listed))}}}"  # its driver takes a thousand numbers apart one by one
        return listed

    def listed(self, value: Iterable[Any], connection: Any) -> Any:
        if connection.vendor == "postgresql":
            return list(value)  # its driver knows arrays of ids and of text
        return json.dumps([super(GivenList, self).adapted(item, connection) for item in value])


class GivenJson(Given):
    """JSON texts by the id of their row, for `OwnJson`: they are one parameter."""

    def adapted(self, value: Mapping[int, str], connection: Any) -> str:
        return json.dumps(value)


class OwnJson(Func):
    """Each row's own value of a JSON column; NULL for a row that is given none."""

    def __init__(self, name: str) -> None:
        super().__init__(F("pk"), output_field=models.JSONField())
        self.name = name

    def as_sql(self, compiler: Any, connection: Any, *args: Any, **context: Any) -> tuple[str, tuple[Any, ...]]:
        key, parameters = compiler.compile(self.source_expressions[0])
        if connection.vendor == "postgresql":
            sql = f"(%s::jsonb ->> {key}::text)::jsonb"
        else:
            sql = f"""JSON_EXTRACT(%s, '$."' || {key} || '"')"""
        return sql, (GivenJson(self.name), *parameters)


class OwnText(OwnJson):
    """Each row's own text, out of `{id: text}`."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.output_field = models.TextField()

    def as_sql(self, compiler: Any, connection: Any, *args: Any, **context: Any) -> tuple[str, tuple[Any, ...]]:
        sql, parameters = super().as_sql(compiler, connection, *args, **context)
        return sql.removesuffix("::jsonb"), parameters


class AsStored(Func):
    """A JSON column as it is, to be copied into another: a SELECT of one would give its text."""

    template = "%(expressions)s"

    def select_format(self, compiler: Any, sql: str, params: Any) -> tuple[str, Any]:
        return sql, params


class Among(Func):
    """`column IN (…)` with one parameter, however many values: a thousand need no parsing then."""

    def __init__(self, column: str, values: Collection[Any] | GivenList) -> None:
        super().__init__(F(column), output_field=models.BooleanField())
        self.values = values

    def as_sql(self, compiler: Any, connection: Any, *args: Any, **context: Any) -> tuple[str, tuple[Any, ...]]:
        column, field = self.source_expressions[0], self.source_expressions[0].output_field
        if isinstance(self.values, GivenList):
            values: Any = GivenList(self.values.name, field)
        else:
            values = GivenList("", field).listed(self.values, connection)
        listed = "= ANY(%s)" if connection.vendor == "postgresql" else "IN (SELECT value FROM json_each(%s))"
        sql, parameters = compiler.compile(column)
        return f"{sql} {listed}", (*parameters, values)
