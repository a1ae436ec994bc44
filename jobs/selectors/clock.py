"""What time it is where it counts: in the database."""

from datetime import UTC, datetime

from django.db import connection


def database_now() -> datetime:
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute("SELECT CLOCK_TIMESTAMP()")
            return cursor.fetchone()[0].astimezone(UTC)
        cursor.execute("SELECT STRFTIME('%Y-%m-%d %H:%M:%f', 'now')")
        return datetime.fromisoformat(cursor.fetchone()[0]).replace(tzinfo=UTC)
