"""The tables: are they those of this code, are their indexes whole, are they swept?"""

from collections.abc import Iterator

from django.apps import apps
from django.db import connection
from django.db.migrations.executor import MigrationExecutor
from django.db.models import Index, Model

from jobs.db import is_postgres
from jobs.doctor.examination import Finding, Level, examination

MANY_DEAD = 100_000
BROKEN_INDEXES = """
SELECT index.relname FROM pg_index JOIN pg_class AS index ON index.oid = indexrelid
JOIN pg_class AS relation ON relation.oid = indrelid
WHERE NOT (indisvalid AND indisready) AND relation.relname LIKE 'jobs\\_%%'
"""
DEAD = """
SELECT relname, n_dead_tup, n_live_tup FROM pg_stat_user_tables
WHERE relname LIKE 'jobs\\_%%' AND n_dead_tup > %s AND n_dead_tup > n_live_tup
"""


@examination("migrations")
def migrations() -> Iterator[Finding]:
    executor = MigrationExecutor(connection)
    pending = executor.migration_plan(executor.loader.graph.leaf_nodes())
    if pending:
        names = ", ".join(str(migration) for migration, _ in pending[:5])
        yield Finding(f"The tables are older than this code: {names} not applied.", "Run `manage.py migrate`.")


@examination("indexes")
def indexes() -> Iterator[Finding]:
    """Somebody may have dropped one by hand, or a restore may have lost it."""
    with connection.cursor() as cursor:
        there = set(connection.introspection.table_names(cursor))
    models = list(apps.get_app_config("jobs").get_models())
    if missing := [model._meta.db_table for model in models if model._meta.db_table not in there]:
        yield Finding(f"Missing tables: {', '.join(sorted(missing))}.", "Run `manage.py migrate`.")
    for model in models:
        if model._meta.db_table in there:
            yield from missing_indexes(model)


def missing_indexes(model: type[Model]) -> Iterator[Finding]:
    table = model._meta.db_table
    with connection.cursor() as cursor:
        found = connection.introspection.get_constraints(cursor, table)
    for index in model._meta.indexes:
        if index.name not in found:
            text = f"The index {index.name} of {table} is missing: some queries read the whole table."
            yield Finding(text, f"{sql_of(model, index)};")


def sql_of(model: type[Model], index: Index) -> str:
    editor = connection.SchemaEditorClass(connection, collect_sql=True)
    return str(index.create_sql(model, editor))


@examination("broken indexes")
def broken_indexes() -> Iterator[Finding]:
    """A CREATE INDEX CONCURRENTLY that failed leaves one that is kept up to date and never used."""
    if not is_postgres():
        return
    with connection.cursor() as cursor:
        cursor.execute(BROKEN_INDEXES, [])
        for (name,) in cursor.fetchall():
            yield Finding(f"The index {name} is invalid.", f'REINDEX INDEX CONCURRENTLY "{name}";')


@examination("dead rows")
def dead_rows() -> Iterator[Finding]:
    if not is_postgres():
        return
    with connection.cursor() as cursor:
        cursor.execute(DEAD, [MANY_DEAD])
        for table, dead, live in cursor.fetchall():
            text = f"{table} has {dead:,} dead rows beside {live:,} live ones: autovacuum does not keep up."
            fix = f'VACUUM (ANALYZE) "{table}"; and see whether a long transaction holds it up.'
            yield Finding(text, fix, Level.ADVICE)
