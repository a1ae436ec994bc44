"""django-tasks-db: the database backend of Django's tasks, with its worker command; connections are kept open."""

from typing import Any
from urllib.parse import urlsplit

import django
from django.conf import settings
from django.db import connection

from benchmarks.sides.side import Side, database_url, main


def configure() -> Any:
    """Django with nothing in it but the tasks; returns the two of them."""
    where = urlsplit(database_url())
    database: dict[str, Any] = {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": where.path.lstrip("/"),
        "USER": where.username,
        "HOST": where.hostname,
        "PORT": where.port,
        "CONN_MAX_AGE": None,
    }
    if where.scheme == "sqlite":
        database = {
            "ENGINE": "django.db.backends.sqlite3",
            "NAME": where.path,
            "OPTIONS": {"transaction_mode": "IMMEDIATE", "init_command": "PRAGMA journal_mode=WAL", "timeout": 30},
        }
    settings.configure(
        SECRET_KEY="measured",
        USE_TZ=True,
        INSTALLED_APPS=["django_tasks", "django_tasks_db"],
        DATABASES={"default": database},
        TASKS={"default": {"BACKEND": "django_tasks_db.DatabaseBackend"}},
    )
    django.setup()
    from benchmarks.sides import django_tasks_db_tasks

    return django_tasks_db_tasks


class DjangoTasksDb(Side):
    distribution = "django-tasks-db"
    how = "db_worker as it is: one task at a time, polls every second; nothing to enqueue many with"
    tables = ("django_tasks_database_dbtaskresult",)
    done = "SELECT count(*) FROM django_tasks_database_dbtaskresult WHERE status = 'SUCCESSFUL'"
    jobs = 1_000
    has_many = False

    def setup(self) -> None:
        self.connect()
        from django.core.management import call_command

        call_command("migrate", verbosity=0)

    def connect(self) -> None:
        self.tasks = configure()
        connection.ensure_connection()

    def enqueue(self, sent: int | None = None) -> None:
        if sent is None:
            self.tasks.none.enqueue()
        else:
            self.tasks.stamp.enqueue(sent)

    def work(self) -> None:
        configure()
        from django.core.management import call_command

        call_command("db_worker", startup_delay=False, verbosity=0)


if __name__ == "__main__":
    main(DjangoTasksDb())
