"""Several migrated databases on one server: which of them Django talks to can be changed in the middle of a measure."""

from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
from django.core.management import call_command
from django.db import connection, connections
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.utils import DEFAULT_DB_ALIAS

TEMPLATE = "bench_template"


class Databases:
    """`with databases.using("full"): claim(…)`; each database keeps its connection open."""

    def __init__(self, admin_url: str) -> None:
        self.admin_url = admin_url
        self.wrappers: dict[str, BaseDatabaseWrapper] = {}
        self.administer(f"CREATE DATABASE {TEMPLATE}")
        with self.using(TEMPLATE):
            call_command("migrate", verbosity=0)
        self.disconnect(TEMPLATE)

    def create(self, name: str) -> None:
        self.administer(f'CREATE DATABASE "{name}" TEMPLATE {TEMPLATE}')

    def drop(self, name: str) -> None:
        self.disconnect(name)
        self.administer(f'DROP DATABASE "{name}"')

    @contextmanager
    def fresh(self, name: str) -> Iterator[None]:
        """A database that exists, and is Django's default, for the length of a measure."""
        self.create(name)
        try:
            with self.using(name):
                yield
        finally:
            self.drop(name)

    @contextmanager
    def using(self, name: str) -> Iterator[None]:
        before = connections[DEFAULT_DB_ALIAS]
        connections[DEFAULT_DB_ALIAS] = self.wrapper(name)
        try:
            yield
        finally:
            connections[DEFAULT_DB_ALIAS] = before

    def wrapper(self, name: str) -> BaseDatabaseWrapper:
        if name not in self.wrappers:
            wrapper = connections.create_connection(DEFAULT_DB_ALIAS)
            wrapper.settings_dict = {**wrapper.settings_dict, "NAME": name}
            self.wrappers[name] = wrapper
        return self.wrappers[name]

    def disconnect(self, name: str) -> None:
        self.wrappers.pop(name).close()

    def disconnect_all(self) -> None:
        for name in list(self.wrappers):
            self.disconnect(name)

    def administer(self, statement: str) -> str:
        with psycopg.connect(self.admin_url, autocommit=True) as admin:
            cursor = admin.execute(statement)
            row = cursor.fetchone() if cursor.description else None
            return str(row[0]) if row else ""


def execute(statement: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(statement)


def settle() -> None:
    """What autovacuum would have done after a while, now, so that it does not happen in the middle of a measure."""
    execute("VACUUM (ANALYZE)")
    execute("CHECKPOINT")
