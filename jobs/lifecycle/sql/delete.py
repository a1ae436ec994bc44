"""DELETE of a queryset's rows alone: what belongs to them, the caller deletes by statements of its own."""

from typing import Any

from django.db import connection, models
from django.db.models.sql import DeleteQuery

from jobs.lifecycle.sql.built_once import Statement, settled


def delete_from(rows: models.QuerySet[Any]) -> Statement:
    query: Any = rows.order_by().query.chain(DeleteQuery)
    return Statement(*settled(*query.get_compiler(connection=connection).as_sql()))
